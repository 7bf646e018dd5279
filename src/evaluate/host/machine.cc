#include "evaluate/host/machine.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

int usable_cores() {
  // Hosts with more than 1024 processors need a larger set: the kernel says so with EINVAL.
  for (int processors = 1024; processors <= 1 << 16; processors *= 2) {
    cpu_set_t* set = CPU_ALLOC(processors);
    if (!set) return 1;
    std::size_t size = CPU_ALLOC_SIZE(processors);
    int error = ::sched_getaffinity(0, size, set) == 0 ? 0 : errno;
    int cores = error == 0 ? CPU_COUNT_S(size, set) : 1;
    CPU_FREE(set);
    if (error != EINVAL) return cores;
  }
  return 1;
}

void look_at_disk(Machine& into) {
  std::error_code error;
  fs::path place = fs::absolute(into.runs_folder, error);
  while (!fs::exists(place, error) && place.has_relative_path()) place = place.parent_path();
  struct statvfs disk{};
  if (::statvfs(place.c_str(), &disk) != 0) {
    into.disk_problem = fmt::format("{}: {}", place.string(), std::strerror(errno));
    return;
  }
  into.disk_free = Bytes{std::uint64_t{disk.f_bavail} * disk.f_frsize};
  if (!fs::is_directory(place, error)) {
    into.disk_problem = fmt::format("{} is not a folder", place.string());
  } else if (::access(place.c_str(), W_OK | X_OK) != 0) {
    into.disk_problem = fmt::format("{}: {}", place.string(), std::strerror(errno));
  }
}

}  // namespace

Bytes meminfo_entry(std::string_view meminfo, std::string_view key) {
  for (std::string_view line : split(meminfo, '\n')) {
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.substr(0, colon) != key) continue;
    std::string_view number = trim(line.substr(colon + 1));
    std::uint64_t kib = 0;
    std::from_chars(number.data(), number.data() + number.size(), kib);
    return KiB(kib);
  }
  return {};
}

std::string cpu_model(std::string_view cpuinfo) {
  for (std::string_view line : split(cpuinfo, '\n')) {
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != "model name") continue;
    return std::string(trim(line.substr(colon + 1)));
  }
  return {};
}

std::string cpu_model() {
  auto cpuinfo = read_file("/proc/cpuinfo");
  return cpuinfo ? cpu_model(*cpuinfo) : std::string();
}

Machine look_at_machine(fs::path runs_folder) {
  Machine machine;
  machine.cpu = cpu_model();
  machine.cores = usable_cores();
  if (auto meminfo = read_file("/proc/meminfo")) {
    machine.memory = meminfo_entry(*meminfo, "MemTotal");
    machine.memory_available = meminfo_entry(*meminfo, "MemAvailable");
  }
  machine.runs_folder = std::move(runs_folder);
  look_at_disk(machine);
  return machine;
}

}  // namespace specgen
