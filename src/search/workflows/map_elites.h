#pragma once
// The population of an evolutionary search, as OpenEvolve keeps it: islands that evolve apart, each with a grid of
// cells (how long a kernel is, how much it differs from others) of which each keeps its fittest; an archive of the
// fittest over all islands; and migration along the ring of islands. Pure: randomness is an argument.

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "search/workflow.h"

namespace specgen {

struct EvolutionSettings {  // OpenEvolve's defaults
  std::size_t islands = 5;
  std::size_t population = 1000;
  std::size_t archive = 100;
  std::size_t bins = 10;  // of each of the two features
  double explore = 0.2;   // parents drawn from the whole island
  double exploit = 0.7;   // parents drawn from the archive; the rest by fitness
  std::size_t top = 3;    // kernels of each kind in a prompt
  std::size_t diverse = 2;
  std::size_t inspirations = 3;
  std::int64_t migration_interval = 50;  // generations
  double migration_share = 0.1;          // of an island
  double rewrites = 0;  // share of prompts that ask for a whole kernel and not for a diff
};

// What a prompt of an island is made of.
struct Selection {
  KnownKernel parent;
  std::vector<KnownKernel> top;
  std::vector<KnownKernel> diverse;
  std::vector<KnownKernel> inspirations;
};

class MapElites {
 public:
  explicit MapElites(EvolutionSettings settings);

  void add(KnownKernel kernel, std::size_t island);
  // One more iteration of this island is over; migrates when it is time.
  void end_generation(std::size_t island);

  bool empty() const { return programs_.empty(); }
  // Not of an empty population. An island without kernels draws from all.
  Selection select(std::size_t island, Random& random) const;

  std::vector<KnownKernel> kernels_of(std::size_t island) const;  // the fittest first
  std::size_t size() const { return programs_.size(); }

 private:
  using Serial = std::uint64_t;
  using Cell = std::array<std::size_t, 2>;
  struct Program {
    KnownKernel kernel;
    double fitness = 0;  // its speedup; 0 if it failed
    std::size_t island = 0;
    bool migrant = false;
  };
  struct Island {
    std::set<Serial> members;
    std::map<Cell, Serial> cells;
    std::int64_t generation = 0;
  };
  // What of a kernel's text is held against others'.
  struct Look {
    explicit Look(std::string text);
    // In length, in lines, in the characters they use.
    double distance_to(const Look& other) const;
    std::string source;
    std::ptrdiff_t lines;
    std::bitset<256> characters;
  };
  struct Range {
    double low = 0;
    double high = 0;
  };

  void add(Program program);
  Cell cell_of(const Look& look);
  double diversity_of(const Look& look) const;
  void put_into_archive(Serial serial);
  void keep_population_small(Serial newest);
  void remove(Serial serial);
  void migrate();
  double fitness_of(Serial serial) const { return programs_.at(serial).fitness; }
  std::vector<Serial> ranked(const std::vector<Serial>& programs) const;  // the fittest first
  std::vector<Serial> pool_of(std::size_t island) const;
  Serial draw_parent(const std::vector<Serial>& pool, std::size_t island, Random& random) const;

  EvolutionSettings settings_;
  std::map<Serial, Program> programs_;
  std::vector<Island> islands_;
  std::set<Serial> archive_;
  std::vector<Look> references_;  // that others are held against
  std::array<Range, 2> ranges_;   // of the features, so far
  Serial last_ = 0;
  Serial best_ = 0;
  std::int64_t last_migration_ = 0;
};

}  // namespace specgen
