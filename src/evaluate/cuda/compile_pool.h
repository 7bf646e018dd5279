#pragma once
// Compile processes kept warm. Each serves one compilation and ends. compile() takes a warm process or starts one and
// waits for it; while that one compiles, those that are missing are started.
//
//   CompilePool pool({...});
//   Compilation done = CO_TRY(co_await pool.compile(request));

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/cuda/compile_protocol.h"
#include "evaluate/sandbox/sandbox.h"
#include "runtime/message_socket.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct CompilePoolSettings {
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
  std::vector<std::string> self = {"/proc/self/exe"};  // how this program is called
  WrapCommand wrap = unsandboxed();
  std::string architecture = {};  // "sm_90a": what the processes warm up for
  std::size_t warm = 1;
  std::vector<std::filesystem::path> visible = {};  // folders that the sandbox must show
  std::vector<std::string> environment = {};        // beside cuda_environment()
  Duration time_limit = std::chrono::seconds(30);   // of one compilation
  Duration start_limit = std::chrono::seconds(30);
};

struct Compilation {
  enum class End { answered, too_slow, out_of_memory, crashed } end = End::answered;
  CompileAnswer answer = {};
  std::string words = {};  // of a crash: how the process ended
  Duration took{};
};

class CompilePool {
 public:
  explicit CompilePool(CompilePoolSettings settings);
  ~CompilePool();

  // An Error is about the host: no NVRTC, no process. All else is about the source.
  Task<Result<Compilation>> compile(CompileRequest request);
  std::size_t warm() const { return waiting_.size(); }

 private:
  struct Worker;
  Result<std::unique_ptr<Worker>> start();
  void replenish();

  CompilePoolSettings settings_;
  std::deque<std::unique_ptr<Worker>> waiting_;
};

}  // namespace specgen
