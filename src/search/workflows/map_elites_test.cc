#include "search/workflows/map_elites.h"

#include <gtest/gtest.h>

#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

KnownKernel of(std::uint64_t id, double speedup, std::string source) {
  KnownKernel kernel = scripted_kernel(id, id, speedup);
  kernel.source = std::move(source);
  return kernel;
}

std::vector<std::uint64_t> ids(const std::vector<KnownKernel>& kernels) {
  std::vector<std::uint64_t> all;
  for (const KnownKernel& kernel : kernels) all.push_back(kernel.id.value);
  return all;
}

using Ids = std::vector<std::uint64_t>;

TEST(MapElites, a_cell_keeps_the_fitter) {
  MapElites population({.islands = 2});
  population.add(of(1, 1.0, "abc"), 0);
  population.add(of(2, 2.0, "abc"), 0);
  EXPECT_EQ(ids(population.kernels_of(0)), Ids{2}) << "the same place: the slower one leaves";
  population.add(of(3, 1.5, "abc"), 0);
  EXPECT_EQ(ids(population.kernels_of(0)), (Ids{2, 3}))
      << "one that does not get its cell stays beside it";
  population.add(of(4, 1.0, "abc"), 1);
  EXPECT_EQ(ids(population.kernels_of(1)), Ids{4}) << "every island has its own grid";
}

TEST(MapElites, kernels_of_other_lengths_live_in_other_cells) {
  MapElites population({.islands = 1});
  population.add(of(1, 1.0, std::string(100, 'a')), 0);
  population.add(of(2, 3.0, std::string(1000, 'a')), 0);
  population.add(of(3, 2.0, std::string(300, 'b')), 0);
  EXPECT_EQ(ids(population.kernels_of(0)), (Ids{2, 3, 1}));
}

TEST(MapElites, a_kernel_that_failed_has_no_fitness) {
  MapElites population({.islands = 1});
  population.add(of(1, 0, "abc"), 0);
  population.add(of(2, 0.5, "abc"), 0);
  EXPECT_EQ(ids(population.kernels_of(0)), Ids{2});
}

TEST(MapElites, the_fittest_migrate_to_both_neighbours_and_only_once) {
  MapElites population({.islands = 4, .migration_interval = 2});
  population.add(of(1, 1.0, "a"), 0);
  population.add(of(2, 5.0, std::string(500, 'b')), 0);
  population.end_generation(0);
  EXPECT_TRUE(population.kernels_of(1).empty());
  population.end_generation(0);
  EXPECT_EQ(ids(population.kernels_of(1)), Ids{2});
  EXPECT_EQ(ids(population.kernels_of(3)), Ids{2});
  EXPECT_TRUE(population.kernels_of(2).empty()) << "a migrant does not migrate on";
  population.end_generation(0);
  population.end_generation(0);
  EXPECT_TRUE(population.kernels_of(2).empty());
  EXPECT_EQ(ids(population.kernels_of(1)), Ids{2}) << "what is there already does not come again";
}

TEST(MapElites, migration_waits_for_its_interval) {
  MapElites population({.islands = 2, .migration_interval = 3});
  population.add(of(1, 1.0, "a"), 0);
  for (int i = 0; i < 2; ++i) {
    population.end_generation(0);
    population.end_generation(1);
  }
  EXPECT_TRUE(population.kernels_of(1).empty()) << "generations are counted by island";
  population.end_generation(1);
  EXPECT_EQ(ids(population.kernels_of(1)), Ids{1});
}

TEST(MapElites, an_empty_island_draws_from_all) {
  MapElites population({.islands = 3});
  population.add(of(1, 1.0, "a"), 0);
  Random random(1);
  EXPECT_EQ(population.select(2, random).parent.id, CandidateId{1});
}

TEST(MapElites, a_selection_has_the_fittest_and_others_but_not_the_parent_as_its_own_inspiration) {
  MapElites population({.islands = 1, .explore = 0, .exploit = 1});
  // The shortest and the longest first: bins lie between what was seen so far.
  for (std::uint64_t id : {1, 9, 2, 3, 4, 5, 6, 7, 8}) {
    population.add(of(id, static_cast<double>(id), std::string(id * 100, 'a')), 0);
  }
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    Selection chosen = population.select(0, random);
    EXPECT_EQ(ids(chosen.top), (Ids{9, 8, 7}));
    EXPECT_EQ(ids(chosen.diverse), (Ids{6, 5}));
    ASSERT_EQ(chosen.inspirations.size(), 3u);
    for (std::uint64_t id : ids(chosen.inspirations)) EXPECT_NE(id, chosen.parent.id.value);
  }
}

TEST(MapElites, the_archive_has_the_fittest) {
  MapElites population({.islands = 1, .archive = 2, .explore = 0, .exploit = 1});
  for (std::uint64_t id = 1; id <= 6; ++id) {
    population.add(of(id, id == 2 ? 9.0 : static_cast<double>(id), std::string(id * 100, 'a')), 0);
  }
  Random random(3);
  std::set<std::uint64_t> parents;
  for (int i = 0; i < 100; ++i) parents.insert(population.select(0, random).parent.id.value);
  EXPECT_EQ(parents, (std::set<std::uint64_t>{2, 6}));
}

TEST(MapElites, parents_by_fitness_are_mostly_fit) {
  MapElites population({.islands = 1, .explore = 0, .exploit = 0});
  population.add(of(1, 0, std::string(100, 'a')), 0);
  population.add(of(2, 9.0, std::string(900, 'a')), 0);
  Random random(3);
  int fit = 0;
  for (int i = 0; i < 100; ++i) fit += population.select(0, random).parent.id.value == 2 ? 1 : 0;
  EXPECT_GT(fit, 95);
}

TEST(MapElites, a_population_that_is_full_loses_the_worst_but_never_the_best_or_the_newest) {
  MapElites population({.islands = 1, .population = 3});
  population.add(of(1, 9.0, std::string(100, 'a')), 0);
  for (std::uint64_t id = 2; id <= 20; ++id) {
    population.add(of(id, 0, std::string(id * 100, 'a')), 0);
    EXPECT_LE(population.size(), 3u);
    Ids all = ids(population.kernels_of(0));
    EXPECT_EQ(all.front(), 1u);
    EXPECT_EQ(std::ranges::count(all, id), 1);
  }
}

TEST(MapElites, the_same_dice_select_the_same) {
  MapElites population({.islands = 1});
  for (std::uint64_t id = 1; id <= 30; ++id) {
    population.add(of(id, static_cast<double>(id % 5), std::string(id * 37 % 400, 'a')), 0);
  }
  Random one(5), other(5);
  for (int i = 0; i < 20; ++i) {
    Selection a = population.select(0, one), b = population.select(0, other);
    EXPECT_EQ(a.parent.id, b.parent.id);
    EXPECT_EQ(ids(a.inspirations), ids(b.inspirations));
  }
}

}  // namespace
}  // namespace specgen
