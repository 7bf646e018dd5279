#include "cli/program.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "cli/terminal.h"
#include "evaluate/cpu/cpu_executor_process.h"
#include "evaluate/cuda/cuda_executor_process.h"
#include "evaluate/cuda/nvrtc_process.h"
#include "evaluate/cuda/once_process.h"
#include "evaluate/host/internal_probe.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/sandbox/poison.h"
#include "evaluate/sandbox/sandbox_launcher.h"

namespace specgen {
namespace {

int report_error(const Error& error) {
  print_error(error.text());
  return static_cast<int>(error.exit_code());
}

int run_internal_probe(std::span<const std::string> arguments) {
  auto answer = answer_internal_probe(arguments.empty() ? std::string() : arguments[0]);
  if (!answer) return report_error(answer.error());
  auto printed = print_output(*answer + "\n");
  return printed ? 0 : report_error(printed.error());
}

// Roles that this program plays as a child of itself. They get their arguments unparsed: what follows is the command
// line of another program.
struct InternalRole {
  std::string_view name;
  void (*play)(std::span<const std::string> arguments);  // does not return
};
template <auto kRun>
void play_and_exit(std::span<const std::string> arguments) {
  ::_exit(kRun(arguments));  // past the exit handlers of the libraries it has loaded
}
constexpr std::array kInternalRoles{
    InternalRole{kInternalSandbox, run_sandbox_launcher},
    InternalRole{kInternalPoison, run_internal_poison},
    InternalRole{kInternalProbe, play_and_exit<run_internal_probe>},
    InternalRole{"internal-judge", play_and_exit<run_internal_judge>},
    InternalRole{"internal-cpu-executor", play_and_exit<run_internal_cpu_executor>},
    InternalRole{kInternalNvrtc, play_and_exit<run_internal_nvrtc>},
    InternalRole{kInternalCudaExecutor, play_and_exit<run_internal_cuda_executor>},
    InternalRole{kInternalCudaOnce, play_and_exit<run_internal_cuda_executor_once>},
};

}  // namespace

int run_program(int argc, char** argv,
                Result<ExitCode> (*run)(std::span<const std::string> arguments)) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (const InternalRole& role : kInternalRoles) {
    if (!arguments.empty() && arguments[0] == role.name) role.play(std::span(arguments).subspan(1));
  }
  Result<ExitCode> ended = run(arguments);
  return ended ? static_cast<int>(*ended) : report_error(ended.error());
}

}  // namespace specgen
