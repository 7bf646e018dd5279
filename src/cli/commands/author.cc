#include "cli/commands/commands.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/command_loop.h"
#include "cli/options.h"
#include "cli/terminal.h"
#include "generate/author/author_service.h"
#include "generate/author/author_text.h"

namespace specgen {
namespace {

Task<Result<bool>> serve_until_interrupted(CommandLoop& command, std::string address,
                                           AuthorOptions options) {
  AuthorService service(command.loop, options);
  auto server = CO_TRY(HttpServer::listen(command.loop, command.driver, address,
                                          std::bind_front(&AuthorService::handle, &service)));
  // On standard output, so that a program that started this one can read the address.
  CO_TRY(print_output(fmt::format("listening on http://{}:{}/v1\n{}\n",
                                  address.substr(0, address.rfind(':')), server->port(),
                                  kAuthorIsNoModel)));
  CO_TRY(co_await server->serve());
  co_return true;
}

class AuthorCommand : public CliCommand {
 public:
  explicit AuthorCommand(CLI::App& app) {
    app.add_option("--listen", listen_, "where to listen; port 0: any free one")
        ->type_name("HOST:PORT")
        ->required();
    app.add_option("--pace", pace_,
                   "fast (default), instant, paper, or a number of tokens per second")
        ->type_name("P");
    app.add_option("--seed", seed_, "another seed gives another reasoning (default 0)")
        ->type_name("N");
    between(app.add_option("--mistakes", mistakes_, "the share of wrong kernels, from 0 to 1")
                ->type_name("RATE"),
            0, 1);
  }

  Result<ExitCode> run(const CommandContext&) override {
    AuthorOptions options = TRY(author_at_pace(pace_));
    options.seed = seed_;
    if (mistakes_) options.mistake_rate = *mistakes_;
    TRY(run_on_loop<bool>(
        [&](CommandLoop& command) { return serve_until_interrupted(command, listen_, options); }));
    return ExitCode::done;
  }

 private:
  std::string listen_;
  std::string pace_;
  std::uint64_t seed_ = 0;
  std::optional<double> mistakes_;  // not given: the author's own rate
};

}  // namespace

AddedCommand add_author_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "author",
      "serve the built-in kernel writer as an OpenAI-compatible API\n\n"
      "It is a deterministic program and not a language model (docs/reference/author.md).");
  return {app, std::make_unique<AuthorCommand>(*app)};
}

}  // namespace specgen
