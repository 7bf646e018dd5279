#include "cli/author.h"

#include <fmt/core.h>

#include <functional>

#include "cli/terminal.h"
#include "cli/workbench.h"
#include "generate/author/author_service.h"
#include "generate/author/author_text.h"

namespace specgen {
namespace {

std::string host_of(std::string_view address) {
  return std::string(address.substr(0, address.rfind(':')));
}

Task<Result<bool>> serve_on(Workbench& bench, std::string address, AuthorOptions options) {
  AuthorService service(bench.loop, options);
  auto server = CO_TRY(HttpServer::listen(bench.loop, bench.driver, address,
                                          std::bind_front(&AuthorService::handle, &service)));
  // On standard output, so that a program that started us can read where we are.
  CO_TRY(print_output(fmt::format("listening on http://{}:{}/v1\n{}\n", host_of(address),
                                  server->port(), kAuthorIsNoModel)));
  CO_TRY(co_await server->serve());
  co_return true;
}

}  // namespace

Result<ExitCode> serve_author(const ServeAuthor& command) {
  AuthorOptions options = TRY(author_at_pace(command.pace));
  options.seed = command.seed;
  if (command.mistakes) options.mistake_rate = *command.mistakes;
  TRY(perform_at_workbench<bool>(
      [&](Workbench& bench) { return serve_on(bench, command.listen, options); }));
  return ExitCode::done;
}

}  // namespace specgen
