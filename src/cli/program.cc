#include "cli/program.h"

#include <unistd.h>

#include <vector>

#include "base/text.h"
#include "cli/terminal.h"
#include "evaluate/host/internal_probe.h"

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

}  // namespace

int run_program(int argc, char** argv, Result<Invocation> (*parse)(std::span<const std::string>),
                Result<ExitCode> (*check_host)(const CheckHost&, const Invocation&)) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  auto perform = [&]() -> Result<ExitCode> {
    Invocation invocation = TRY(parse(words));
    if (auto* text = std::get_if<ShowText>(&invocation.what)) return show(*text);
    if (auto* probe = std::get_if<InternalProbe>(&invocation.what)) return answer(*probe);
    return check_host(std::get<CheckHost>(invocation.what), invocation);
  };
  Result<ExitCode> ended = perform();
  if (ended) return static_cast<int>(*ended);
  print_error(ended.error().text());
  return static_cast<int>(ended.error().exit_code());
}

}  // namespace specgen
