#pragma once
// Warm compile processes. Each serves one compilation and ends. compile() takes a warm process or
// starts one and waits for it; meanwhile missing ones are started.
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
  std::vector<std::string> self = {"/proc/self/exe"};  // the command line of this program
  WrapCommand wrap = unsandboxed();
  std::string architecture = {};  // "sm_90a"; the processes warm up for it
  std::size_t warm = 1;
  std::vector<std::filesystem::path> visible = {};  // folders that must be visible in the sandbox
  std::vector<std::string> environment = {};        // in addition to cuda_environment()
  Duration time_limit = std::chrono::seconds(30);   // of one compilation
  Duration start_limit = std::chrono::seconds(30);
};

struct Compilation {
  enum class End { answered, too_slow, out_of_memory, crashed } end = End::answered;
  CompileAnswer answer = {};
  std::string report = {};  // crashed: exit status and end of stderr
  Duration took{};
};

class CompilePool {
 public:
  explicit CompilePool(CompilePoolSettings settings);
  ~CompilePool();

  // An Error concerns the host: no NVRTC, no process. Everything else concerns the source.
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
