#include "search/workflows/map_elites.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <utility>

#include "base/assert.h"

namespace specgen {
namespace {

constexpr std::size_t kReferences = 20;
constexpr double kMinWeight = 0.001;  // of a kernel that failed, where fitness weighs

}  // namespace

MapElites::Look::Look(std::string text)
    : source(std::move(text)), lines(std::ranges::count(source, '\n')) {
  for (char c : source) characters.set(static_cast<unsigned char>(c));
}

double MapElites::Look::distance_to(const Look& other) const {
  auto apart = [](std::ptrdiff_t a, std::ptrdiff_t b) {
    return std::abs(static_cast<double>(a - b));
  };
  return 0.1 * apart(std::ssize(source), std::ssize(other.source)) +
         10 * apart(lines, other.lines) +
         0.5 * static_cast<double>((characters ^ other.characters).count());
}

MapElites::MapElites(EvolutionSettings settings) : settings_(settings), islands_(settings.islands) {
  SG_ASSERT(settings.islands > 0 && settings.bins > 0, "there is an island with a cell");
  ranges_.fill({.low = std::numeric_limits<double>::infinity(),
                .high = -std::numeric_limits<double>::infinity()});
}

void MapElites::add(KnownKernel kernel, std::size_t island) {
  double fitness = is_confirmed(kernel) ? kernel.speedup.median : 0;
  add({.kernel = std::move(kernel), .fitness = fitness, .island = island});
}

void MapElites::add(Program program) {
  SG_ASSERT(program.island < islands_.size(), "the island is one of ours");
  Serial serial = ++last_;
  Island& island = islands_[program.island];
  Look look(program.kernel.source);
  Cell cell = cell_of(look);
  if (references_.size() < kReferences) references_.push_back(std::move(look));
  double fitness = program.fitness;
  programs_.emplace(serial, std::move(program));

  // A cell keeps the fitter; what it puts out leaves the island. One that does not get its cell may stay beside it.
  Serial displaced = 0;
  auto [holder, is_new] = island.cells.try_emplace(cell, serial);
  if (!is_new && fitness > fitness_of(holder->second)) {
    displaced = std::exchange(holder->second, serial);
    island.members.erase(displaced);
    if (archive_.erase(displaced) > 0) archive_.insert(serial);
  }
  island.members.insert(serial);
  put_into_archive(serial);
  if (best_ == 0 || fitness > fitness_of(best_)) best_ = serial;
  if (displaced != 0 && displaced != best_) remove(displaced);
  keep_population_small(serial);
}

// Bins lie between the least and the greatest that were seen so far.
MapElites::Cell MapElites::cell_of(const Look& look) {
  std::array<double, 2> features{static_cast<double>(look.source.size()), diversity_of(look)};
  Cell cell{};
  for (std::size_t i = 0; i < features.size(); ++i) {
    Range& range = ranges_[i];
    range.low = std::min(range.low, features[i]);
    range.high = std::max(range.high, features[i]);
    double width = range.high - range.low;
    double share = width > 0 ? (features[i] - range.low) / width : 0.5;
    auto bins = static_cast<double>(settings_.bins);
    cell[i] = static_cast<std::size_t>(std::min(share * bins, bins - 1));
  }
  return cell;
}

double MapElites::diversity_of(const Look& look) const {
  double sum = 0;
  int others = 0;
  for (const Look& reference : references_) {
    if (reference.source == look.source) continue;
    sum += look.distance_to(reference);
    ++others;
  }
  return others > 0 ? sum / others : 0;
}

void MapElites::put_into_archive(Serial serial) {
  if (archive_.size() < settings_.archive) {
    archive_.insert(serial);
    return;
  }
  auto by_fitness = [this](Serial each) { return fitness_of(each); };
  auto worst = std::ranges::min_element(archive_, {}, by_fitness);
  if (worst == archive_.end() || archive_.contains(serial)) return;
  if (fitness_of(serial) <= fitness_of(*worst)) return;
  archive_.erase(worst);
  archive_.insert(serial);
}

void MapElites::keep_population_small(Serial newest) {
  while (programs_.size() > settings_.population) {
    Serial worst = 0;
    for (const auto& [serial, program] : programs_) {
      if (serial == newest || serial == best_) continue;
      if (worst == 0 || program.fitness < fitness_of(worst)) worst = serial;
    }
    if (worst == 0) return;
    remove(worst);
  }
}

void MapElites::remove(Serial serial) {
  Island& island = islands_[programs_.at(serial).island];
  island.members.erase(serial);
  std::erase_if(island.cells, [&](const auto& cell) { return cell.second == serial; });
  archive_.erase(serial);
  programs_.erase(serial);
}

void MapElites::end_generation(std::size_t island) {
  ++islands_[island].generation;
  std::int64_t furthest = std::ranges::max(islands_, {}, &Island::generation).generation;
  if (furthest - last_migration_ < settings_.migration_interval) return;
  last_migration_ = furthest;
  if (islands_.size() > 1) migrate();
}

// The fittest of each island are copied to both neighbours on the ring, but no program migrates twice.
void MapElites::migrate() {
  std::size_t count = islands_.size();
  for (std::size_t from = 0; from < count; ++from) {
    const std::set<Serial>& members = islands_[from].members;
    std::vector<Serial> fittest = ranked({members.begin(), members.end()});
    auto share =
        static_cast<std::size_t>(static_cast<double>(fittest.size()) * settings_.migration_share);
    if (fittest.size() > std::max<std::size_t>(1, share))
      fittest.resize(std::max<std::size_t>(1, share));
    for (Serial serial : fittest) {
      if (!programs_.contains(serial) || programs_.at(serial).migrant) continue;
      for (std::size_t to : {(from + 1) % count, (from + count - 1) % count}) {
        Program copy = programs_.at(serial);
        bool known = std::ranges::any_of(islands_[to].members, [&](Serial each) {
          return programs_.at(each).kernel.source == copy.kernel.source;
        });
        if (known) continue;
        copy.island = to;
        copy.migrant = true;
        add(std::move(copy));
      }
    }
  }
}

std::vector<MapElites::Serial> MapElites::ranked(const std::vector<Serial>& programs) const {
  std::vector<std::pair<double, Serial>> by_fitness;
  for (Serial serial : programs) by_fitness.emplace_back(-fitness_of(serial), serial);
  std::ranges::sort(by_fitness);
  auto serials = by_fitness | std::views::values;
  return {serials.begin(), serials.end()};
}

std::vector<MapElites::Serial> MapElites::pool_of(std::size_t island) const {
  const std::set<Serial>& members = islands_[island].members;
  if (!members.empty()) return {members.begin(), members.end()};
  std::vector<Serial> all;
  for (const auto& [serial, _] : programs_) all.push_back(serial);
  return all;
}

MapElites::Serial MapElites::draw_parent(const std::vector<Serial>& pool, std::size_t island,
                                         Random& random) const {
  double chance = random.uniform();
  if (chance < settings_.explore) return pool[random.below(pool.size())];
  if (chance < settings_.explore + settings_.exploit && !archive_.empty()) {
    std::vector<Serial> elite;
    for (Serial serial : archive_) {
      if (programs_.at(serial).island == island) elite.push_back(serial);
    }
    if (elite.empty()) elite.assign(archive_.begin(), archive_.end());
    return elite[random.below(elite.size())];
  }
  double total = 0;
  for (Serial serial : pool) total += std::max(fitness_of(serial), kMinWeight);
  double left = random.uniform(0, total);
  for (Serial serial : pool) {
    left -= std::max(fitness_of(serial), kMinWeight);
    if (left < 0) return serial;
  }
  return pool.back();
}

Selection MapElites::select(std::size_t island, Random& random) const {
  SG_ASSERT(!empty(), "there is something to select");
  std::vector<Serial> pool = pool_of(island);
  Serial parent = draw_parent(pool, island, random);
  Selection selection{
      .parent = programs_.at(parent).kernel, .top = {}, .diverse = {}, .inspirations = {}};
  std::vector<Serial> best = ranked(pool);
  for (std::size_t i = 0; i < best.size() && i < settings_.top + settings_.diverse; ++i) {
    auto& list = i < settings_.top ? selection.top : selection.diverse;
    list.push_back(programs_.at(best[i]).kernel);
  }
  std::erase(pool, parent);
  random.shuffle(pool);
  for (std::size_t i = 0; i < pool.size() && i < settings_.inspirations; ++i) {
    selection.inspirations.push_back(programs_.at(pool[i]).kernel);
  }
  return selection;
}

std::vector<KnownKernel> MapElites::kernels_of(std::size_t island) const {
  const std::set<Serial>& members = islands_[island].members;
  std::vector<KnownKernel> kernels;
  for (Serial serial : ranked({members.begin(), members.end()})) {
    kernels.push_back(programs_.at(serial).kernel);
  }
  return kernels;
}

}  // namespace specgen
