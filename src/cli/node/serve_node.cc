#include "cli/node/serve_node.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/text.h"
#include "cli/command_loop.h"
#include "cli/diagnosis.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "evaluate/node/device_list.h"
#include "evaluate/node/memory_provider.h"
#include "evaluate/node/node.h"
#include "kvcache/kv_memory_provider.h"
#include "kvcache/kv_server.h"
#include "kvcache/kv_store.h"
#include "kvcache/shm_server.h"
#include "runtime/stopwatch.h"

namespace specgen {
namespace {

constexpr int kFewCores = 2;

std::string working_compiler(const HostReport& host) {
  auto found = std::ranges::find_if(host.tools.compilers, &Component::works);
  return found == host.tools.compilers.end() ? "g++" : found->name;
}

// The KV cache. Its threads take no signals: open it where this thread has them blocked.
struct ServingKv {
  std::unique_ptr<KvStore> store;
  std::unique_ptr<KvServer> server;
  std::unique_ptr<ShmServer> shm = {};  // if requested
  std::unique_ptr<MemoryProvider> provider;
};

Result<std::string> password_in(const std::string& file) {
  if (file.empty()) return std::string();
  std::string text = TRY(read_file(file, KiB(4)));
  std::string password(trim(first_line(text)));
  if (!password.empty()) return password;
  return fail(ErrorCode::bad_config, file + " has no password on its first line");
}

// Keeps to `cores`; `gpus` give memory too if the request says how much.
Result<ServingKv> start_kv(Loop& loop, RealDriver& driver, const NodeKvOptions& options,
                           std::vector<int> cores, const std::vector<int>& gpus) {
  KvServerSettings settings{.listen = options.listen,
                            .threads = options.threads,
                            .cores = cores,
                            .is_open = options.is_open,
                            .password = TRY(password_in(options.password_file)),
                            .tls_certificate = options.tls_certificate,
                            .tls_key = options.tls_key,
                            .metrics = options.metrics,
                            .rate = {.prefill_tokens_per_s = options.prefill_tokens_per_s,
                                     .bytes_per_token = options.bytes_per_token},
                            .devices = options.device ? gpus : std::vector<int>(),
                            .limits = {}};
  ServingKv serving;
  serving.store = TRY(KvStore::open({.host = options.host,
                                     .task_quota = options.quota,
                                     .prefill_tokens_per_s = options.prefill_tokens_per_s,
                                     .bytes_per_token = options.bytes_per_token}));
  if (options.device) {
    if (gpus.empty()) {
      return fail(ErrorCode::device_missing, "--kv device=SIZE: no GPU is served here",
                  "leave device=SIZE out, or name one with --devices");
    }
    for (int gpu : gpus) TRY(serving.store->share_device(gpu, *options.device));
  }
  serving.server = TRY(KvServer::start(*serving.store, std::move(settings)));
  if (!options.shm_socket.empty()) {
    serving.shm =
        TRY(ShmServer::open(*serving.store, options.shm_socket, {.cores = std::move(cores)}));
  }
  serving.provider =
      make_memory_provider(loop, driver, serving.server->service().reclaim, options.job_memory);
  return serving;
}

std::string kv_banner(const ServingKv& serving) {
  std::string text =
      fmt::format("listening on {}: a KV cache of {}, {} threads", serving.server->address(),
                  format_bytes(serving.store->capacity()), serving.server->threads());
  if (serving.shm) text += fmt::format(", shared memory at {}", serving.shm->path().string());
  if (int port = serving.server->metrics_port()) text += fmt::format(", metrics at port {}", port);
  return text;
}

// Serves devices to a controller, the KV cache to engines, or both.
Task<Result<bool>> serve(CommandLoop& command, std::optional<NodeSetup> setup,
                         std::optional<NodeKvOptions> kv, std::vector<int> cores,
                         std::vector<int> gpus) {
  ServingKv serving;
  if (kv) {
    serving = CO_TRY(start_kv(command.loop, command.driver, *kv, std::move(cores), gpus));
    // A controller has standard output for itself.
    if (setup) print_error(kv_banner(serving));
    if (!setup) CO_TRY(print_output(kv_banner(serving) + "\n"));
  }
  if (!setup) {
    co_await Event(command.loop).wait();  // a signal ends this
    co_return true;
  }
  setup->memory = serving.provider.get();
  auto input = CO_TRY(AsyncFd::open(command.loop, command.driver, Fd(::dup(STDIN_FILENO))));
  auto output = CO_TRY(AsyncFd::open(command.loop, command.driver, Fd(::dup(STDOUT_FILENO))));
  Node node(command.loop, command.driver, command.processes, std::move(*setup));
  CO_TRY(co_await node.serve(*input, *output));
  co_return true;
}

bool is_pipe_or_socket(int stream) {
  struct stat facts{};
  return ::fstat(stream, &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode));
}

// A controller is connected by pipes or sockets. A terminal, a file and /dev/null (of services) are not one.
Result<void> check_connection() {
  for (auto [stream, name] :
       {std::pair{STDIN_FILENO, "input"}, std::pair{STDOUT_FILENO, "output"}}) {
    if (is_pipe_or_socket(stream)) continue;
    return fail(
        ErrorCode::bad_usage,
        fmt::format("standard {} is {}, and no controller is connected to it", name,
                    ::isatty(stream) == 1 ? "a terminal" : "a file or device"),
        "specgen starts this program itself, with a pipe or socket as its standard input and "
        "output; to see what this host offers use --check, for a KV cache alone "
        "--kv SIZE < /dev/null");
  }
  return {};
}

Result<NodeSetup> set_up_node(const ServeNode& request, const HostReport& host,
                              const std::vector<int>& cores) {
  std::vector<NodeDevice> devices = TRY(choose_devices(host, request.devices, cores));
  NodeSetup setup{.devices = devices,
                  .compile_slots = static_cast<std::size_t>(std::max(1, host.machine.cores / 2)),
                  .pause_compiling = host.machine.cores <= kFewCores,
                  .judge = {.device = {},
                            .compiler = working_compiler(host),
                            .keep_off = cores_of_devices(devices, cores)},
                  .version = std::string(version())};
  if (!request.compiler.empty()) setup.judge.compiler = request.compiler;
  if (!request.python.empty()) setup.judge.python = request.python;
  if (!request.ncu.empty()) setup.judge.ncu = request.ncu;
  return setup;
}

// Those that are served, or without a controller those that were named; the first if none was.
std::vector<int> gpus_among(const ServeNode& request, const std::optional<NodeSetup>& setup) {
  std::vector<std::string> names = request.devices;
  if (setup) {
    names.clear();
    for (const NodeDevice& device : setup->devices) names.push_back(device.id);
  } else if (names.empty()) {
    names.push_back("cuda:0");
  }
  std::vector<int> gpus;
  for (std::string_view name : names) {
    if (auto gpu = gpu_number(name)) gpus.push_back(*gpu);
  }
  return gpus;
}

}  // namespace

Result<ExitCode> serve_node(const ServeNode& request) {
  const bool is_controlled = !request.kv || is_pipe_or_socket(STDIN_FILENO);
  if (is_controlled) TRY(check_connection());
  std::vector<int> cores = allowed_cores();
  std::optional<NodeSetup> setup;
  if (is_controlled) {
    setup = TRY(set_up_node(request, TRY(inspect_host({})), cores));
    // What is timed on a core must have it alone.
    std::erase_if(cores, [&](int core) {
      return std::ranges::find(setup->judge.keep_off, core) != setup->judge.keep_off.end();
    });
  }
  std::vector<int> gpus = gpus_among(request, setup);
  TRY(run_on_loop<bool>([&](CommandLoop& command) {
    return serve(command, std::move(setup), request.kv, std::move(cores), std::move(gpus));
  }));
  return ExitCode::done;
}

}  // namespace specgen
