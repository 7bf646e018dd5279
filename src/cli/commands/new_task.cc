#include "cli/commands/commands.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "cli/terminal.h"
#include "evaluate/task/signature.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

struct TemplateFile {
  std::string_view name;
  std::string_view text;  // NAME is replaced by the task's name
};

constexpr std::array kTemplateFiles{
    TemplateFile{"task.toml", R"text(name = "NAME"
summary = "y = a * x + b, element by element"
level = 1
elements = ["f32"]                       # what T stands for; further dtypes become variants NAME:f16

[axes.n]
hidden = [1, 100000]                     # hidden cases draw from this range

[[input]]
name = "x"
dtype = "T"
shape = ["n"]
data = ["normal(0, 1)", "uniform(-100, 100)"]

[[input]]
name = "b"
dtype = "T"
shape = ["n"]
data = ["normal(0, 1)"]

[[output]]
name = "y"
dtype = "T"
shape = ["n"]

[[scalar]]
name = "a"
value = 2.5

[[case]]                                 # small and odd: finds bugs
axes = { n = 1003 }
[[case]]                                 # timed: counts
axes = { n = 4000000 }
weight = 1.0
backends = ["cpu"]
[[case]]
axes = { n = 67108864 }
weight = 1.0
backends = ["cuda"]

[hidden]
cases = 4

[cost]                                   # what any implementation must do at least
bytes = "3 * n * sizeof_T"
flops = "2 * n"

[check]
reduction = "2"                          # how many terms an element of the output sums up
)text"},
    TemplateFile{
        "reference.cc",
        R"text(// What is right, in fp64. y_scale[i] is the sum of the absolute terms behind y[i].
extern "C" void reference(const double* x, const double* b, double* y, double* y_scale, int64_t n, double a,
                          int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) {
    y[i] = a * x[i] + b[i];
    y_scale[i] = std::fabs(a * x[i]) + std::fabs(b[i]);
  }
}
)text"},
    TemplateFile{"baseline.cc", R"text(// The 1.0 of every speedup on a CPU: plain and honest.
using T = SPECGEN_DTYPE;
extern "C" void NAME(const T* x, const T* b, T* y, int64_t n, double a, void* scratch, int tid, int nthreads) {
  int64_t begin = n * tid / nthreads, end = n * (tid + 1) / nthreads;
  float factor = static_cast<float>(a);
  for (int64_t i = begin; i < end; ++i) y[i] = factor * static_cast<float>(x[i]) + static_cast<float>(b[i]);
}
)text"},
    TemplateFile{"baseline.cu",
                 R"text(// specgen:launch NAME<<<ceildiv(n, 256), 256>>>(x, b, y, n, a)
using T = SPECGEN_DTYPE;
__global__ void NAME(const T* x, const T* b, T* y, long long n, float a) {
  long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = a * static_cast<float>(x[i]) + static_cast<float>(b[i]);
}
)text"}};

std::string with_name(std::string_view text, std::string_view name) {
  constexpr std::string_view kPlace = "NAME";
  std::string result;
  while (true) {
    std::size_t at = text.find(kPlace);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += name;
    text.remove_prefix(at + kPlace.size());
  }
}

class NewTaskCommand : public CliCommand {
 public:
  explicit NewTaskCommand(CLI::App& app) {
    app.add_option("NAME", folder_, "the folder and the task's name")->required();
  }

  Result<ExitCode> run(const CommandContext&) override {
    fs::path folder = folder_;
    std::string name = folder.filename().string();
    if (name.empty() || identifier_of(name) != name) {
      return fail(ErrorCode::bad_usage, fmt::format("'{}' is not a valid name for a task", name),
                  "use letters, digits and _, and no keyword of C++: it is also the name of the "
                  "kernel's function");
    }
    std::error_code trouble;
    if (fs::exists(folder, trouble)) {
      return fail(ErrorCode::bad_usage, fmt::format("{} exists already", folder.string()),
                  "choose another name; nothing was changed");
    }
    fs::create_directories(folder, trouble);
    if (trouble) return fail_errno(folder.string(), trouble.value());
    for (const TemplateFile& file : kTemplateFiles) {
      TRY(write_file_durably(folder / file.name, with_name(file.text, name)));
    }
    TRY(print_output(
        fmt::format("{0}/ has a task to start from: y = a*x + b.\n"
                    "  change task.toml, reference.cc, baseline.cc and baseline.cu, then\n"
                    "  specgen tasks {0} --check           does it distinguish right from wrong?\n"
                    "  specgen eval {0} {0}/baseline.cc    judge a candidate\n",
                    folder.string())));
    return ExitCode::done;
  }

 private:
  std::string folder_;
};

}  // namespace

AddedCommand add_new_task_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("new", "write a task to start from, in a new folder NAME");
  return {app, std::make_unique<NewTaskCommand>(*app)};
}

}  // namespace specgen
