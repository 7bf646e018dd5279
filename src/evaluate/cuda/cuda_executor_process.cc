#include "evaluate/cuda/cuda_executor_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>

#include "evaluate/cuda/driver_api.h"
#include "evaluate/cuda/executor_memory.h"
#include "evaluate/cuda/executor_programs.h"
#include "evaluate/cuda/executor_protocol.h"
#include "evaluate/cuda/executor_stream.h"
#include "runtime/message_socket.h"

namespace specgen {
namespace {

constexpr int kSocket = 3;

// The output of kernels is discarded: a full pipe would block us.
void mute_standard_output() {
  Fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere) ::dup2(nowhere.get(), STDOUT_FILENO);
}

class ExecutorServer {
 public:
  static Result<std::unique_ptr<ExecutorServer>> open(int index) {
    const CudaDriver& driver = *TRY(CudaDriver::load());
    auto self = std::unique_ptr<ExecutorServer>(
        new ExecutorServer(driver, TRY(ask_cuda_device(driver, index))));
    const CudaDeviceFacts& device = self->device_;
    // Spin while waiting: calls are short, and nothing else runs on this device.
    TRY(driver.check(driver.primary_set_flags(device.handle, kCuScheduleSpin),
                     "cuDevicePrimaryCtxSetFlags"));
    CuContext context = nullptr;
    TRY(driver.check(driver.primary_retain(&context, device.handle), "cuDevicePrimaryCtxRetain"));
    TRY(driver.check(driver.ctx_set_current(context), "cuCtxSetCurrent"));
    // Devices without this limit have nothing to switch off.
    driver.ctx_set_limit(kCuLimitPersistingL2, 0);
    self->stream_ = TRY(ExecutorStream::open(driver, device));
    return self;
  }

  // Until the judge closes its end or a kernel has broken the context.
  Result<void> serve() {
    TRY(send_message(kSocket, encode(ExecutorAnswer{.ok = true})));
    while (true) {
      auto message = TRY(reader_.receive());
      if (!message) return {};
      ExecutorAnswer answer = TRY(this->answer(*message));
      TRY(send_message(kSocket, encode(answer)));
      if (answer.fault.code != 0) return {};
    }
  }

 private:
  ExecutorServer(const CudaDriver& driver, CudaDeviceFacts device)
      : device_(std::move(device)), memory_(driver, device_), programs_(driver), reader_(kSocket) {}

  Result<ExecutorAnswer> answer(const SocketMessage& message) {
    auto request = parse_executor_request(message.body);
    if (!request) return ExecutorAnswer{.broken = request.error().summary()};
    if (std::holds_alternative<LoadRequest>(*request)) return load();
    if (auto* import = std::get_if<ImportRequest>(&*request)) {
      auto imported = memory_.import(*import, message.descriptors);
      if (!imported) return ExecutorAnswer{.broken = imported.error().summary()};
      return ExecutorAnswer{.ok = true};
    }
    if (auto* lay_out = std::get_if<LayOutRequest>(&*request)) {
      return programs_.lay_out(*lay_out, memory_, stream_->stream());
    }
    if (auto* run = std::get_if<RunRequest>(&*request)) return stream_->run(*run, programs_);
    if (auto* time = std::get_if<TimeRequest>(&*request)) return stream_->time(*time, programs_);
    if (auto* canary = std::get_if<CanaryRequest>(&*request)) {
      return stream_->canary(*canary, programs_);
    }
    if (auto* describe = std::get_if<DescribeRequest>(&*request)) {
      return programs_.describe(*describe);
    }
    programs_.clear();
    memory_.clear_except(std::get<ClearRequest>(*request).keep);
    return ExecutorAnswer{.ok = true};
  }

  Result<ExecutorAnswer> load() {
    std::array<std::string, 3> cubins;
    for (std::string& cubin : cubins) {
      auto message = TRY(reader_.receive());
      if (!message) return fail(ErrorCode::bad_message, "a program is missing");
      cubin = std::move(message->body);
    }
    return programs_.load(cubins);
  }

  CudaDeviceFacts device_;
  ExecutorMemory memory_;
  ExecutorPrograms programs_;
  std::unique_ptr<ExecutorStream> stream_;
  MessageReader reader_;
};

Result<void> serve_device(std::span<const std::string> arguments) {
  int index = 0;
  std::string_view text = arguments.empty() ? "" : std::string_view(arguments.front());
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::bad_usage, "internal-cuda-executor DEVICE");
  }
  mute_standard_output();
  auto server = ExecutorServer::open(index);
  if (!server) {
    TRY(send_message(kSocket, encode(ExecutorAnswer{.broken = server.error().text()})));
    return std::unexpected(server.error());
  }
  // Never destroyed: after a kernel has broken the context, only the driver can clean up, when the
  // process ends.
  return server->release()->serve();
}

}  // namespace

int run_internal_cuda_executor(std::span<const std::string> arguments) {
  auto served = serve_device(arguments);
  if (!served) fmt::print(stderr, "{}\n", served.error().text());
  ::_exit(served ? 0 : 1);
}

}  // namespace specgen
