#include "cli/serve_kv.h"

#include <fmt/core.h>

#include "base/file.h"
#include "base/text.h"
#include "kvcache/kv_lender.h"

namespace specgen {
namespace {

Result<std::string> password_in(const std::string& file) {
  if (file.empty()) return std::string();
  std::string text = TRY(read_file(file, KiB(4)));
  std::string password(trim(first_line(text)));
  if (!password.empty()) return password;
  return fail(ErrorCode::bad_config, file + " has no password on its first line");
}

}  // namespace

Result<ServingKv> start_kv(Loop& loop, RealDriver& driver, const ServeKv& command,
                           std::vector<int> cores, const std::vector<int>& gpus) {
  KvServerSettings settings{.listen = command.listen,
                            .lanes = command.lanes,
                            .cores = cores,
                            .is_open = command.is_open,
                            .password = TRY(password_in(command.password_file)),
                            .tls_certificate = command.tls_certificate,
                            .tls_key = command.tls_key,
                            .metrics = command.metrics,
                            .rate = {.prefill_tokens_per_s = command.prefill_tokens_per_s,
                                     .bytes_per_token = command.bytes_per_token},
                            .devices = command.device ? gpus : std::vector<int>(),
                            .limits = {}};
  ServingKv serving;
  serving.store = TRY(KvStore::open({.host = command.host,
                                     .task_quota = command.quota,
                                     .prefill_tokens_per_s = command.prefill_tokens_per_s,
                                     .bytes_per_token = command.bytes_per_token}));
  if (command.device) {
    if (gpus.empty()) {
      return fail(ErrorCode::device_missing, "--kv: no GPU is served here that could lend memory",
                  "leave device=SIZE out, or name one with --devices");
    }
    for (int gpu : gpus) TRY(serving.store->lend_device(gpu, *command.device));
  }
  serving.server = TRY(KvServer::start(*serving.store, std::move(settings)));
  if (!command.lane.empty()) {
    serving.lane = TRY(LaneServer::open(*serving.store, command.lane, {.cores = std::move(cores)}));
  }
  serving.lender = lend_from(loop, driver, serving.server->service().reclaim, command.job_memory);
  return serving;
}

std::string kv_banner(const ServingKv& serving) {
  std::string text =
      fmt::format("listening on {}: a KV cache of {}, {} threads", serving.server->address(),
                  format_bytes(serving.store->lent()), serving.server->lanes());
  if (serving.lane) text += fmt::format(", lane at {}", serving.lane->path().string());
  if (int port = serving.server->metrics_port()) text += fmt::format(", metrics at port {}", port);
  return text;
}

}  // namespace specgen
