#include "runtime/stopwatch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace specgen {
namespace {

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t stopwatch_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return nanoseconds(now);
}

std::int64_t cpu_time_ns(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return -1;
  return nanoseconds(used);
}

bool is_asleep(pid_t thread) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(thread));
  Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  char text[512];
  ssize_t n = file ? ::read(file.get(), text, sizeof text - 1) : 0;
  if (n <= 0) return false;
  text[n] = 0;
  const char* end_of_name = std::strrchr(text, ')');  // the name may contain anything
  return end_of_name && end_of_name[1] == ' ' && end_of_name[2] == 'S';
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> threads;
  std::error_code trouble;
  std::filesystem::directory_iterator entry("/proc/" + std::to_string(pid) + "/task", trouble);
  for (; !trouble && entry != std::filesystem::directory_iterator(); entry.increment(trouble)) {
    std::string name = entry->path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) threads.push_back(thread);
  }
  return threads;
}

Result<void> pin_to_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) CPU_SET(core, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) return fail_errno("sched_setaffinity", errno);
  return {};
}

void ask_for_preference(bool wanted) {
  const char* nice = wanted ? "-15" : "0";
  (void)::setpriority(PRIO_PROCESS, 0, wanted ? -15 : 0);
  // With autogroups, the line above applies within our session only.
  Fd group(::open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC));
  if (group) (void)write_all(group.get(), nice);
}

void Spin::yield_core() {
  ::sched_yield();
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

}  // namespace specgen
