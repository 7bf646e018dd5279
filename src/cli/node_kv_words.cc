#include "cli/node_kv_words.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/numbers.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxLanes = 64;
constexpr std::string_view kDeviceWord = "device=";
constexpr const char* kUsualAddress = "127.0.0.1:6380";

Result<Bytes> size_of(std::string_view text, std::string_view flag) {
  auto bytes = parse_bytes(text);
  if (bytes) return *bytes;
  return fail(ErrorCode::bad_usage, fmt::format("{}: '{}' is not a size", flag, text),
              "write it like 16GiB or 512MiB");
}

}  // namespace

void NodeKvWords::add_to(CLI::App& app) {
  app_ = &app;
  CLI::Option* kv =
      app.add_option("--kv", texts_.kv,
                     "lend this much memory to LLM servers as a KV cache (docs/kvcache.md)")
          ->type_name("SIZE[,device=SIZE]");
  auto option = [&](const char* name, std::string& text, const char* type, const char* help) {
    app.add_option(name, text, help)->type_name(type)->needs(kv);
  };
  option("--kv-listen", command_.listen, "HOST:PORT|unix:PATH",
         "where its clients connect (default 127.0.0.1:6380)");
  app.add_flag("--kv-open", command_.is_open, "let clients of other hosts connect, with a password")
      ->disable_flag_override()
      ->needs(kv);
  option("--kv-password-file", command_.password_file, "FILE", "the first line is the password");
  option("--kv-tls-cert", command_.tls_certificate, "FILE",
         "speak TLS with this certificate (PEM)");
  option("--kv-tls-key", command_.tls_key, "FILE", "and its key");
  option("--kv-lane", command_.lane, "PATH",
         "a socket for clients of this host that share memory (libspecgen_kv)");
  option("--kv-metrics", command_.metrics, "HOST:PORT", "counters for Prometheus, at /metrics");
  option("--kv-prefill", texts_.prefill, "TOKENS_PER_S",
         "of the LLM server: what is computed sooner than fetched is not given");
  option("--kv-bytes-per-token", texts_.bytes_per_token, "N", "of its KV cache");
  option("--kv-quota", texts_.quota, "SIZE", "of one task's values");
  option("--kv-job-memory", texts_.job_memory, "SIZE",
         "what is made free before a job runs, if it is not (default 2GiB)");
  option("--kv-lanes", texts_.lanes, "N",
         "threads that serve clients (default: one for each core)");
}

Result<std::optional<ServeKv>> NodeKvWords::look() const {
  if (app_->count("--kv") == 0) return std::nullopt;
  ServeKv command = command_;
  std::string_view sizes = texts_.kv;
  std::size_t comma = sizes.find(',');
  command.host = TRY(size_of(sizes.substr(0, comma), "--kv"));
  if (comma != sizes.npos) {
    std::string_view device = sizes.substr(comma + 1);
    if (!device.starts_with(kDeviceWord)) {
      return fail(ErrorCode::bad_usage, fmt::format("--kv: '{}' is not device=SIZE", device));
    }
    command.device = TRY(size_of(device.substr(kDeviceWord.size()), "--kv"));
  }
  if (command.listen.empty()) command.listen = kUsualAddress;
  if (!texts_.prefill.empty()) {
    command.prefill_tokens_per_s = TRY(number_of<double>(texts_.prefill, "--kv-prefill"));
    if (!(command.prefill_tokens_per_s > 0)) return must_be("--kv-prefill", "more than 0");
  }
  if (!texts_.bytes_per_token.empty()) {
    command.bytes_per_token =
        TRY(number_of<double>(texts_.bytes_per_token, "--kv-bytes-per-token"));
    if (!(command.bytes_per_token > 0)) return must_be("--kv-bytes-per-token", "more than 0");
  }
  if (!texts_.quota.empty()) command.quota = TRY(size_of(texts_.quota, "--kv-quota"));
  if (!texts_.job_memory.empty()) {
    command.job_memory = TRY(size_of(texts_.job_memory, "--kv-job-memory"));
  }
  if (!texts_.lanes.empty()) {
    command.lanes = TRY(number_of<std::size_t>(texts_.lanes, "--kv-lanes"));
    if (command.lanes < 1 || command.lanes > kMaxLanes) return must_be("--kv-lanes", "1 to 64");
  }
  return command;
}

}  // namespace specgen
