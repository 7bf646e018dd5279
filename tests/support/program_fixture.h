#pragma once
// For tests that run our programs as a user does: a folder to work in, an environment without the
// user's own settings, and a task that is judged within a second.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/environment.h"
#include "base/file.h"
#include "evaluate/host/fake_tools.h"
#include "runtime/process_tree.h"

namespace specgen {

// The first `from` of a text, which must be there: a test that changes nothing tests nothing.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from);
  SG_ASSERT(at != std::string::npos, "there is nothing to replace");
  return text.replace(at, from.size(), to);
}

// y = 2.5 x + b, named "small".
struct SmallTask {
  std::string toml = R"text(name = "small"
summary = "y = a * x + b"
elements = ["f32", "f64"]

[axes.n]
hidden = [1000, 5000]

[[input]]
name = "x"
dtype = "T"
shape = ["n"]
data = ["normal(0, 1)"]
[[input]]
name = "b"
dtype = "T"
shape = ["n"]
data = ["uniform(-100, 100)"]
[[output]]
name = "y"
dtype = "T"
shape = ["n"]
[[scalar]]
name = "a"
value = 2.5

[[case]]
axes = { n = 503 }
[[case]]
axes = { n = 100000 }
weight = 1.0

[hidden]
cases = 2

[cost]
bytes = "3 * n * sizeof_T"
flops = "2 * n"

[check]
reduction = "2"
)text";
  std::string reference = R"text(
extern "C" void reference(const double* x, const double* b, double* y, double* y_scale, int64_t n,
                          double a, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    y[i] = a * x[i] + b[i];
    y_scale[i] = std::fabs(a * x[i]) + std::fabs(b[i]);
  }
}
)text";
  std::string baseline = R"text(
using T = SPECGEN_DTYPE;
extern "C" void small(const T* x, const T* b, T* y, int64_t n, double a, void* scratch, int tid,
                      int nthreads) {
  const T factor = static_cast<T>(a);
  for (int64_t i = n * tid / nthreads; i < n * (tid + 1) / nthreads; ++i) y[i] = factor * x[i] + b[i];
}
)text";

  // A candidate that does this before it is honest.
  std::string with(std::string_view first) const {
    return replaced(baseline, "const T factor", std::string(first) + "\n  const T factor");
  }
  // One that takes so many turns longer. Each waits for the one before, in registers: what is stored and loaded again
  // takes one time in one process and another in the next.
  std::string slowed(std::string_view turns) const {
    return with("double waste = a;\n  for (int64_t turn = 0; turn < (" + std::string(turns) +
                "); ++turn) waste = waste * 0.5 + 1;\n  if (waste < 0) return;");
  }
};

struct ProgramFixture {
  FakeTools folder;
  ToolFixture fixture;
  std::vector<std::string> environment = whole_environment();

  // `cache` is kept from test to test: what a host can do is found out once.
  explicit ProgramFixture(const std::string& cache) {
    set("HOME", (folder.path() / "home").string());
    set("XDG_CACHE_HOME", cache);
    unset("XDG_CONFIG_HOME");
  }
  void set(const std::string& name, const std::string& value) {
    unset(name);
    environment.push_back(name + "=" + value);
  }
  void unset(const std::string& name) {
    std::erase_if(environment, [&](const std::string& e) { return e.starts_with(name + "="); });
  }

  std::string write(const std::string& name, std::string_view text) {
    std::filesystem::path path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    SG_ASSERT(write_file_durably(path, text).has_value(), "a file cannot be written");
    return path.string();
  }
  // Without the files that are empty.
  void write(const std::string& name, const SmallTask& task) {
    for (const auto& [file, text] :
         {std::pair{"task.toml", &task.toml}, std::pair{"reference.cc", &task.reference},
          std::pair{"baseline.cc", &task.baseline}}) {
      if (!text->empty()) write(name + "/" + file, *text);
    }
  }

  Command command(std::vector<std::string> arguments) {
    return {.argv = std::move(arguments),
            .environment = environment,
            .folder = folder.path(),
            .time_limit = std::chrono::seconds(100)};
  }
  Finished run(std::vector<std::string> arguments) {
    auto finished = fixture.run(fixture.processes.run(command(std::move(arguments))));
    SG_ASSERT(finished.has_value(), "a program does not end");
    return std::move(*finished);
  }
  void rest(Duration duration = std::chrono::milliseconds(5)) {
    fixture.run([](Loop& loop, Duration d) -> Task<void> { co_await loop.sleep(d); }(fixture.loop,
                                                                                     duration));
  }
};

struct LivingProcess {
  pid_t pid = 0;
  std::string command_line;  // with spaces
};

// Everything that a process has started, and what that has started.
inline std::vector<LivingProcess> family_of(pid_t ancestor) {
  std::vector<LivingProcess> found;
  for (pid_t pid : descendants_of(ancestor)) {
    std::string command_line = read_file("/proc/" + std::to_string(pid) + "/cmdline").value_or("");
    std::ranges::replace(command_line, '\0', ' ');
    found.push_back({pid, std::move(command_line)});
  }
  return found;
}

inline bool is_alive(pid_t pid) {
  // A zombie that waits for a reaper elsewhere has ended.
  auto status = read_file("/proc/" + std::to_string(pid) + "/stat");
  return status && status->find(") Z ") == std::string::npos;
}

}  // namespace specgen
