#include "cli/program.h"

#include <unistd.h>

#include <array>
#include <vector>

#include "base/text.h"
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

Result<ExitCode> show(const ShowText& shown) {
  if (shown.asked_for) {
    TRY(print_output(shown.text));
    return ExitCode::done;
  }
  print_error(trim(shown.text));
  return ExitCode::usage;
}

Result<ExitCode> answer(const InternalProbe& probe) {
  TRY(print_output(TRY(answer_internal_probe(probe.what)) + "\n"));
  ::_exit(0);  // past the exit handlers of whatever the probe has loaded
}

// Parts that this program plays as a child of itself. Their words are taken as they are: what
// follows belongs to others, and a parser would read meaning into it.
struct InternalRole {
  std::string_view name;
  void (*play)(std::span<const std::string> words);  // does not return
};
template <auto kRun>
void play_and_exit(std::span<const std::string> words) {
  ::_exit(kRun(words));  // past the exit handlers of whatever was loaded
}
constexpr std::array kInternalRoles{
    InternalRole{kInternalSandbox, run_sandbox_launcher},
    InternalRole{kInternalPoison, run_internal_poison},
    InternalRole{"internal-judge", play_and_exit<run_internal_judge>},
    InternalRole{"internal-cpu-executor", play_and_exit<run_internal_cpu_executor>},
    InternalRole{kInternalNvrtc, play_and_exit<run_internal_nvrtc>},
    InternalRole{kInternalCudaExecutor, play_and_exit<run_internal_cuda_executor>},
    InternalRole{kInternalCudaOnce, play_and_exit<run_internal_cuda_executor_once>},
};

}  // namespace

int run_program(int argc, char** argv, Result<Invocation> (*parse)(std::span<const std::string>),
                Result<ExitCode> (*do_command)(const Invocation&)) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (const InternalRole& role : kInternalRoles) {
    if (!words.empty() && words[0] == role.name) role.play(std::span(words).subspan(1));
  }
  auto perform = [&]() -> Result<ExitCode> {
    Invocation invocation = TRY(parse(words));
    if (auto* text = std::get_if<ShowText>(&invocation.what)) return show(*text);
    if (auto* probe = std::get_if<InternalProbe>(&invocation.what)) return answer(*probe);
    return do_command(invocation);
  };
  Result<ExitCode> ended = perform();
  if (ended) return static_cast<int>(*ended);
  print_error(ended.error().text());
  return static_cast<int>(ended.error().exit_code());
}

}  // namespace specgen
