#include "cli/kv_gateway.h"

#include <fmt/core.h>

#include "cli/kv.h"
#include "cli/terminal.h"
#include "cli/workbench.h"
#include "kvcache/kv_gateway.h"

namespace specgen {
namespace {

Task<Result<bool>> serve_on(Workbench& bench, KvGatewaySettings settings) {
  std::size_t nodes = settings.nodes.size();
  auto gateway = CO_TRY(KvGateway::start(std::move(settings)));
  // On standard output, so that a program that started us can read where we are.
  CO_TRY(print_output(fmt::format("listening on {} for {} {}\n", gateway->address(), nodes,
                                  nodes == 1 ? "node" : "nodes")));
  co_await bench.loop.sleep_until(Time::max());
  co_return true;
}

}  // namespace

Result<ExitCode> serve_kv_gateway(const ServeKvGateway& command) {
  KvGatewaySettings settings{.listen = command.listen,
                             .nodes = command.nodes,
                             .threads = static_cast<std::size_t>(command.threads),
                             .password = TRY(kv_password(command.password_file))};
  TRY(perform_at_workbench<bool>(
      [&](Workbench& bench) { return serve_on(bench, std::move(settings)); }));
  return ExitCode::done;
}

}  // namespace specgen
