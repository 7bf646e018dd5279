#include "cli/node/node_options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/arguments.h"
#include "cli/options.h"
#include "evaluate/node/device_list.h"

namespace specgen {
namespace {

constexpr int kMaxKvThreads = 64;
constexpr std::string_view kDevicePart = "device=";

std::string node_help(const CLI::App& app) {
  return fmt::format(
      "specgen-node is the part of specgen that runs on an evaluation host.\n\n"
      "usage: specgen-node [--devices LIST] [options]\n"
      "       specgen-node --kv SIZE [--kv-listen ADDRESS] [options]\n"
      "       specgen-node --check [options]\n\n"
      "Without --check it serves its devices to a controller, which is connected to its standard\n"
      "input and output (docs/reference/node.md). With --kv it also gives spare memory to LLM "
      "servers as a "
      "KV\n"
      "cache; without a controller on its standard input it does only that, until Ctrl-C or\n"
      "SIGTERM.\n\n"
      "options:\n{}\n"
      "example:\n"
      "  specgen-node --check --json     what this host offers to a controller\n"
      "  specgen-node --kv 16GiB         a KV cache for LLM servers on this host, at port 6380\n\n"
      "documentation: README.md and docs/ of the source tree\n",
      option_lines({&app}));
}

// "16GiB" or "16GiB,device=8GiB"
std::string parse_kv_sizes(std::string_view text, NodeKvOptions& kv) {
  std::size_t comma = text.find(',');
  auto host = parse_bytes(text.substr(0, comma));
  if (!host) return fmt::format("'{}' is not a size, such as 16GiB", text.substr(0, comma));
  kv.host = *host;
  if (comma == text.npos) return {};
  std::string_view device = text.substr(comma + 1);
  if (!device.starts_with(kDevicePart)) return fmt::format("'{}' is not device=SIZE", device);
  auto size = parse_bytes(device.substr(kDevicePart.size()));
  if (!size) return fmt::format("'{}' is not a size, such as 16GiB", device);
  kv.device = *size;
  return {};
}

CLI::Option* add_kv_options(CLI::App& app, NodeKvOptions& kv) {
  CLI::Option* enable =
      app.add_option_function<std::string>(
             "--kv",
             [&kv](const std::string& text) {
               std::string problem = parse_kv_sizes(text, kv);
               if (!problem.empty()) throw CLI::ValidationError("--kv", problem);
             },
             "give this much memory to LLM servers as a KV cache (docs/guide/kvcache.md)")
          ->type_name("SIZE[,device=SIZE]");
  auto option = [&](const char* name, auto& into, const char* type, const char* help) {
    return app.add_option(name, into, help)->type_name(type)->needs(enable);
  };
  option("--kv-listen", kv.listen, "HOST:PORT|unix:PATH",
         "where its clients connect (default 127.0.0.1:6380)");
  add_flag(app, "--kv-open", kv.is_open, "let clients of other hosts connect, with a password")
      ->needs(enable);
  option("--kv-password-file", kv.password_file, "FILE", "the first line is the password");
  option("--kv-tls-cert", kv.tls_certificate, "FILE", "use TLS with this certificate (PEM)");
  option("--kv-tls-key", kv.tls_key, "FILE", "and its key");
  option("--kv-lane", kv.shm_socket, "PATH",
         "a socket for clients of this host that share memory (libspecgen_kv)");
  option("--kv-metrics", kv.metrics, "HOST:PORT", "counters for Prometheus, at /metrics");
  above_zero(option("--kv-prefill", kv.prefill_tokens_per_s, "TOKENS_PER_S",
                    "of the LLM server: prefixes that it computes faster than it fetches are not "
                    "given"));
  above_zero(option("--kv-bytes-per-token", kv.bytes_per_token, "N", "of its KV cache"));
  add_size(app, "--kv-quota", kv.quota, "of one task's values")->needs(enable);
  add_size(app, "--kv-job-memory", kv.job_memory,
           "made free before a job runs, if it is not (default 2GiB)")
      ->needs(enable);
  between(option("--kv-lanes", kv.threads, "N",
                 "threads that serve clients (default: one for each core)"),
          1, kMaxKvThreads);
  return enable;
}

}  // namespace

Result<NodeRequest> parse_node(std::span<const std::string> arguments) {
  CLI::App app("specgen-node", "specgen-node");
  set_up_program(app);
  bool is_check = false;
  std::string devices = "auto";
  CheckNode check;
  ServeNode serve;
  NodeKvOptions kv;
  CLI::Option* check_flag =
      add_flag(app, "--check", is_check, "print what this host offers to a controller, and end");
  add_flag(app, "--json", check.json, "print one JSON document (schema specgen.node-check)")
      ->needs(check_flag);
  add_duration(app, "--time-limit", check.time_limit, "for each check (default 20s)")
      ->needs(check_flag);
  app.add_option("--devices", devices,
                 "which to serve, such as cpu:0,cuda:0 (default: auto, which is all)")
      ->type_name("LIST");
  app.add_option("--compiler", serve.compiler, "the C++ compiler to use instead of the one found")
      ->type_name("PROGRAM");
  app.add_option("--python", serve.python, "the Python to use (default python3)")
      ->type_name("PROGRAM");
  app.add_option("--ncu", serve.ncu, "the profiler to use (default ncu)")->type_name("PROGRAM");
  CLI::Option* kv_option = add_kv_options(app, kv);

  auto text = TRY(parse_arguments(app, arguments, [&] { return node_help(app); }));
  if (text) return PrintNodeHelp{std::move(*text)};
  if (is_check) return check;
  serve.devices = TRY(parse_device_list(devices));
  if (kv_option->count() > 0) serve.kv = std::move(kv);
  return serve;
}

}  // namespace specgen
