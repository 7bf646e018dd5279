#include "schedule/node_process.h"

#include <fmt/core.h>

#include <array>
#include <boost/json.hpp>

#include "base/file.h"
#include "base/text.h"
#include "evaluate/node/frames.h"
#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxUnsent = 16384;      // frames
constexpr std::size_t kMaxErrorOutput = 2000;  // bytes
constexpr Duration kExitWait = std::chrono::seconds(1);

// The program in our folder, as in a build folder and in an unpacked archive; else the one in PATH.
std::string in_our_folder(std::string_view name) {
  std::filesystem::path here = program_folder() / name;
  std::error_code trouble;
  return std::filesystem::exists(here, trouble) ? here.string() : std::string(name);
}

class NodeLink final : public HostLink {
 public:
  NodeLink(Loop& loop, Process process)
      : loop_(loop),
        process_(std::move(process)),
        frames_(*process_.output),
        unsent_(loop, kMaxUnsent),
        error_output_ended_(loop),
        pumps_(loop) {
    pumps_.spawn(write_frames());
    pumps_.spawn(read_error_output());
  }

  Result<void> send(Json frame) override {
    if (broken_) return std::unexpected(*broken_);
    std::string bytes = framed(frame);
    if (bytes.size() > kLargestFrame) {
      return fail(ErrorCode::bad_message,
                  fmt::format("a frame of {} bytes is too large", bytes.size()));
    }
    if (unsent_.try_send(std::move(bytes))) return {};
    return fail(ErrorCode::harness_failed, "the node does not read its input");
  }

  Task<Result<std::optional<Json>>> receive() override {
    auto frame = co_await frames_.next();
    if (!frame || !*frame) co_return std::unexpected(co_await how_it_ended(frame));
    co_return CO_TRY(parse_json(**frame));
  }

 private:
  Task<void> write_frames() {
    while (auto frame = co_await unsent_.receive()) {
      auto written = co_await process_.input->write_all(*frame);
      if (written) continue;
      broken_ = written.error();
      co_return;
    }
  }

  Task<void> read_error_output() {
    std::array<char, 4096> bytes;
    while (true) {
      auto n = co_await process_.error_output->read_some(bytes);
      if (!n || *n == 0) break;
      error_output_.append(bytes.data(), *n);
      if (error_output_.size() > kMaxErrorOutput) {
        error_output_.erase(0, error_output_.size() - kMaxErrorOutput);
      }
    }
    error_output_ended_.set();
  }

  Task<Exit> wait_for_exit() {
    co_await error_output_ended_.wait();
    co_return co_await process_.wait();
  }

  Task<Error> how_it_ended(Result<std::optional<std::string>> frame) {
    if (!frame && frame.error().code == ErrorCode::bad_message) co_return frame.error();
    auto ended = co_await race(wait_for_exit(), loop_.sleep(kExitWait));
    std::string text = "the node has closed its end";
    ErrorCode code = ErrorCode::harness_failed;
    if (const Exit* exit = ended.first()) {
      text = "the node has ended, " + to_string(*exit);
      if (exit->code == static_cast<int>(ExitCode::environment)) code = ErrorCode::device_missing;
    }
    if (std::string_view output = trim(error_output_); !output.empty()) {
      text += ": " + as_utf8(std::string(output));
    }
    co_return Error{code, std::move(text), {}};
  }

  Loop& loop_;
  Process process_;  // its destructor kills the process tree
  FrameReader frames_;
  Channel<std::string> unsent_;
  std::string error_output_;
  Event error_output_ended_;  // set when the node has closed its standard error
  std::optional<Error> broken_;
  TaskGroup pumps_;  // last: they use the members above
};

}  // namespace

NodeProcess::NodeProcess(Loop& loop, Processes& processes, NodeCommand command)
    : loop_(loop), processes_(processes), command_(std::move(command)) {
  if (command_.argv.empty()) command_.argv = {in_our_folder("specgen-node")};
  if (!command_.devices.empty()) {
    command_.argv.emplace_back("--devices");
    command_.argv.push_back(join(command_.devices, ","));
  }
  command_.argv.insert(command_.argv.end(), command_.flags.begin(), command_.flags.end());
}

Task<Result<std::unique_ptr<HostLink>>> NodeProcess::connect() {
  Process process = CO_TRY(processes_.spawn(
      {.argv = command_.argv, .environment = command_.environment, .folder = command_.folder}));
  co_return std::make_unique<NodeLink>(loop_, std::move(process));
}

}  // namespace specgen
