#include "evaluate/cpu/cpu_ceilings.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/cpu/ceiling_loops.h"
#include "runtime/stopwatch.h"
#include "runtime/thread_team.h"

namespace specgen {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Half a second in total, however slow the machine: the loops stop after these times.
constexpr std::int64_t kTouchSlice = 150 * kMillisecond;
constexpr std::int64_t kMemorySlice = 25 * kMillisecond;  // of each loop
constexpr std::int64_t kCacheSlice = 10 * kMillisecond;
constexpr std::int64_t kFlopSlice = 10 * kMillisecond;
constexpr std::int64_t kMinPass = kMillisecond / 5;  // so that reading the clock does not matter

constexpr std::size_t kMaxArea = std::size_t{1} << 30;
constexpr std::size_t kMinArea = std::size_t{64} << 20;
constexpr std::size_t kPage = 4096;  // the smallest page size
constexpr std::size_t kMiddleArea = std::size_t{12} << 20;
constexpr std::size_t kUsualFirstLevel = std::size_t{32} << 10;
constexpr std::size_t kUsualLastLevel = std::size_t{32} << 20;

class KeepAffinity {
 public:
  KeepAffinity() : cores_(allowed_cores()) {}
  KeepAffinity(const KeepAffinity&) = delete;
  ~KeepAffinity() { (void)pin_to_cores(cores_); }
  const std::vector<int>& cores() const { return cores_; }

 private:
  std::vector<int> cores_;
};

std::size_t whole_steps(std::size_t bytes) {
  return std::max(bytes / kStepBytes, std::size_t{1}) * kStepBytes;
}

// Each thread's own memory, first touched by that thread so that it is near its core.
class Area {
 public:
  Area(ThreadTeam& team, std::size_t bytes_per_thread)
      : bytes_(bytes_per_thread), parts_(static_cast<std::size_t>(team.size()), nullptr) {
    // A virtual machine may take seconds to get new memory. What is not there in time is not used:
    // a smaller area measures more of the cache, which errs on the high side.
    std::vector<std::size_t> touched(parts_.size(), 0);
    std::int64_t deadline = stopwatch_ns() + kTouchSlice;
    team.run([&](int thread) {
      auto number = static_cast<std::size_t>(thread);
      void* memory =
          ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return;
      ::madvise(memory, bytes_, MADV_HUGEPAGE);
      parts_[number] = static_cast<char*>(memory);
      constexpr std::size_t kBite = std::size_t{2} << 20;
      std::size_t& done = touched[number];
      while (done < bytes_ && (done == 0 || stopwatch_ns() < deadline)) {
        std::size_t end = std::min(done + kBite, bytes_);
        // One call (Linux 5.14) is faster than a fault for every page.
        if (::madvise(parts_[number] + done, end - done, MADV_POPULATE_WRITE) == 0) {
          done = end;
          continue;
        }
        for (; done < end; done += kPage) static_cast<volatile char*>(parts_[number])[done] = 0;
      }
    });
    usable_ = std::min(bytes_, *std::ranges::min_element(touched));
  }
  Area(const Area&) = delete;
  ~Area() {
    for (char* part : parts_) {
      if (part) ::munmap(part, bytes_);
    }
  }

  std::size_t usable() const { return usable_; }  // of each part; 0 if there was no memory
  // Divides the first `bytes` of the thread's part into `count` streams, and returns this pass's
  // window of each. Windows are short, because a long one would almost always be disturbed.
  Streams streams(int thread, std::size_t bytes, int count, std::size_t pass) const {
    constexpr std::size_t kWindow = std::size_t{4} << 20;
    char* part = parts_[static_cast<std::size_t>(thread)];
    std::size_t each = whole_steps(bytes / static_cast<std::size_t>(count));
    std::size_t window = std::min(each, kWindow);
    part += pass % (each / window) * window;
    return {.to = part,
            .from = count > 1 ? part + each : part,
            .more = count > 2 ? part + 2 * each : part,
            .bytes = window};
  }

 private:
  std::size_t bytes_;
  std::size_t usable_ = 0;
  std::vector<char*> parts_;
};

// A resource that the threads share is measured by their common wall clock. One that each core has
// alone is the sum of the best of each, so that a core that was briefly preempted does not lower
// it.
enum class Resource : std::uint8_t { shared, of_each_core };

// The highest rate of all passes within the slice, at least one. A pass over a core's own resource
// takes more and more turns, until its start no longer matters. One over a shared resource is long
// enough, and a second turn would find the data in the cache.
double best_rate(ThreadTeam& team, double per_turn, Resource resource, std::int64_t slice,
                 const std::function<void(int thread, std::size_t pass, std::size_t turns)>& work) {
  double best_together = 0;
  struct alignas(64) Padded {
    double rate = 0;
  };
  std::vector<Padded> best(static_cast<std::size_t>(team.size()));
  std::size_t pass = 0;
  std::size_t turns = 1;
  auto rate = [&](std::int64_t took) {
    return per_turn * static_cast<double>(turns) * 1e9 /
           static_cast<double>(std::max<std::int64_t>(took, 1));
  };
  std::int64_t start = stopwatch_ns();
  std::int64_t now = start;
  do {
    std::int64_t began = stopwatch_ns();
    team.run([&](int thread) {
      std::int64_t thread_began = stopwatch_ns();
      work(thread, pass, turns);
      double& own = best[static_cast<std::size_t>(thread)].rate;
      own = std::max(own, rate(stopwatch_ns() - thread_began));
    });
    now = stopwatch_ns();
    best_together = std::max(best_together, rate(now - began) * team.size());
    ++pass;
    if (resource == Resource::of_each_core && now - began < kMinPass) turns *= 2;
  } while (now - start < slice);
  if (resource == Resource::shared) return best_together;
  double sum = 0;
  for (const Padded& thread : best) sum += thread.rate;
  return sum;
}

double best_memory_rate(ThreadTeam& team, const Area& area, std::size_t bytes, bool in_cache) {
  double best = 0;
  for (const MemoryLoopKind* loop = memory_loops(); loop->run; ++loop) {
    if (in_cache && loop->uncached) continue;
    std::size_t window = area.streams(0, bytes, loop->streams, 0).bytes;
    double rate = best_rate(team, static_cast<double>(window) * loop->streams,
                            in_cache ? Resource::of_each_core : Resource::shared,
                            in_cache ? kCacheSlice : kMemorySlice,
                            [&](int thread, std::size_t pass, std::size_t turns) {
                              loop->run(area.streams(thread, bytes, loop->streams, pass), turns);
                            });
    best = std::max(best, rate);
  }
  return best;
}

std::string cache_fact(int core, int index, std::string_view name) {
  auto text = read_file(
      fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/{}", core, index, name), KiB(4));
  return text ? std::string(trim(*text)) : std::string();
}

std::size_t reported_by_system(int name) {
  long size = ::sysconf(name);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

// Well beyond the last-level cache, but no more than a quarter of the memory.
std::size_t area_bytes(std::size_t last_level) {
  std::size_t wanted = std::clamp(4 * last_level, kMinArea, kMaxArea);
  std::size_t memory = reported_by_system(_SC_PHYS_PAGES) * reported_by_system(_SC_PAGESIZE);
  return memory ? std::min(wanted, memory / 4) : wanted;
}

}  // namespace

CacheSizes cache_sizes(const std::vector<int>& cores) {
  CacheSizes sizes;
  int highest = 0;
  std::map<std::string, std::size_t> last;  // by the cores that share it
  for (int core : cores) {
    constexpr int kMaxCaches = 16;
    for (int index = 0; index < kMaxCaches; ++index) {
      std::string type = cache_fact(core, index, "type");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      auto size = parse_bytes(cache_fact(core, index, "size"));  // "48K"
      std::string level_text = cache_fact(core, index, "level");
      if (!size || level_text.size() != 1) continue;
      int level = level_text[0] - '0';
      if (level == 1) sizes.first_level = std::max<std::size_t>(sizes.first_level, size->count);
      if (level > highest) {
        highest = level;
        last.clear();
      }
      if (level == highest) last[cache_fact(core, index, "shared_cpu_list")] = size->count;
    }
  }
  for (const auto& [sharers, size] : last) sizes.last_level += size;
  if (sizes.first_level == 0) sizes.first_level = reported_by_system(_SC_LEVEL1_DCACHE_SIZE);
  for (int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (sizes.last_level == 0) sizes.last_level = reported_by_system(name);
  }
  return sizes;
}

Ceilings measure_cpu_ceilings(const std::vector<int>& cores) {
  KeepAffinity keep;
  const std::vector<int>& used = cores.empty() ? keep.cores() : cores;
  CacheSizes caches = cache_sizes(used);
  std::size_t first_level = caches.first_level ? caches.first_level : kUsualFirstLevel;
  std::size_t last_level = caches.last_level ? caches.last_level : kUsualLastLevel;

  Ceilings ceilings;
  ceilings.cache_bytes = static_cast<double>(last_level);
  ceilings.near_cache_bytes = static_cast<double>(
      std::max(reported_by_system(_SC_LEVEL2_CACHE_SIZE), 8 * first_level) * used.size());
  ThreadTeam team(static_cast<int>(used.size()), used);
  team.wake();
  {
    // A multiple of three streams of full steps, and of the pages that are touched.
    constexpr std::size_t kUnit = 3 * kPage;
    std::size_t bytes = std::max(area_bytes(last_level) / used.size() / kUnit * kUnit, 64 * kUnit);
    Area area(team, bytes);
    if (area.usable() > 0) {
      ceilings.memory_bytes_per_second = best_memory_rate(team, area, area.usable(), false);
      // Half of it: another hardware thread of the core may use the rest.
      std::size_t fits = std::min(first_level / 2, area.usable());
      ceilings.near_cache_bytes_per_second = best_memory_rate(team, area, fits, true);
      // Larger than a core's own caches, smaller than the shared one.
      std::size_t middle = std::min({last_level / 2 / used.size(), kMiddleArea, area.usable()});
      ceilings.cache_bytes_per_second = best_memory_rate(team, area, middle, true);
    }
  }
  double& f32 = ceilings.flops_per_second["f32"];
  double& f64 = ceilings.flops_per_second["f64"];
  for (const FlopLoopKind* loop = flop_loops(); loop->run; ++loop) {
    double rate = best_rate(team, loop->flops_per_turn, Resource::of_each_core, kFlopSlice,
                            [&](int, std::size_t, std::size_t turns) { loop->run(turns); });
    double& best = loop->f64 ? f64 : f32;
    best = std::max(best, rate);
  }
  team.rest();
  // Half-precision data is mostly computed in f32, but native instructions exist on some processors
  // (AVX512-FP16, AVX512-BF16, FEAT_FP16) and are twice as fast. Matrix units (AMX) would be faster
  // still, but a candidate cannot request them from the kernel.
  ceilings.flops_per_second["f16"] = 2 * f32;
  ceilings.flops_per_second["bf16"] = 2 * f32;
  ceilings.launch_seconds = 0;  // a call is a jump
  return ceilings;
}

}  // namespace specgen
