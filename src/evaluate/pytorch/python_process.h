#pragma once
// A sandboxed Python process that answers one request at a time, over descriptor 3. Its program is embedded in ours
// (python/). Destroying the object kills the process. The end of what it prints is kept for messages.
//
//   Python python = CO_TRY(co_await find_python(processes));
//   auto process = TRY(PythonProcess::start(host, PythonProgram::reference, view));
//   PythonAnswer answer = CO_TRY(co_await process->ask(R"({"do":"describe",...})", {}, 60s));

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/sandbox/sandbox.h"
#include "evaluate/verdict.h"
#include "runtime/message_socket.h"
#include "runtime/subprocess.h"
#include "runtime/task_group.h"

namespace specgen {

// An interpreter that has torch, and the folders that it must be able to read. On Debian 12 `apt-get install
// python3-torch` (and libtorch-dev, pybind11-dev for load_inline) installs a torch for CPUs.
struct Python {
  std::filesystem::path executable;
  std::vector<std::filesystem::path> folders;  // in addition to those of every sandbox
};
// tool_missing, with the Python in its text, if there is no Python of that name or it has no torch. Imports nothing, so
// it takes a fraction of a second.
Task<Result<Python>> find_python(Processes& processes, std::string name = "python3");

// The folder that a module with inline C++ must be able to read if $CXX is a compiler outside of /usr: its
// installation,
// /opt/gcc for /opt/gcc/bin/g++, but never a home folder.
std::optional<std::filesystem::path> folder_of_compiler(std::string_view compiler,
                                                        const std::filesystem::path& home);

// How the processes of PyTorch tasks are started; outlives them.
struct PythonHost {
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
  WrapCommand wrap;
  Python python;
  std::string device = "cpu";                      // or "cuda:0"
  int threads = 1;                                 // of torch, on a CPU
  SandboxLimits limits = {};                       // of each process
  std::filesystem::path scratch = "/tmp";          // inside the sandbox
  std::filesystem::path cache = {};                // of precompiled headers; empty: none
  Duration time_limit = std::chrono::seconds(60);  // of one answer

  bool on_gpu() const { return device != "cpu"; }
};

enum class PythonProgram : std::uint8_t { reference, model_new };

// A message, or how the process has ended.
struct PythonAnswer {
  Verdict ended = Verdict::ok;  // else crash, timeout or out_of_memory, and there is no message
  std::string how = {};         // "signal 11 (Segmentation fault)", and the end of its stderr
  SocketMessage message = {};
};

class PythonProcess {
 public:
  static Result<std::unique_ptr<PythonProcess>> start(const PythonHost& host, PythonProgram program,
                                                      std::vector<std::filesystem::path> read_only);
  ~PythonProcess();

  // After an answer with `ended` the process is gone. An Error is the host's fault.
  Task<Result<PythonAnswer>> ask(std::string question, std::vector<int> descriptors,
                                 Duration limit);
  bool alive() const { return alive_; }

 private:
  PythonProcess(Loop& loop, MessageSocket socket, SandboxResources resources, Process process);
  Task<PythonAnswer> exchange(std::string question, std::vector<int> descriptors);
  Task<PythonAnswer> end(Verdict verdict, std::string why);
  static Task<void> keep_end(AsyncFd& from, std::string& into);

  Loop& loop_;
  MessageSocket socket_;
  SandboxResources resources_;
  Process process_;
  bool alive_ = true;
  std::string printed_;
  std::string complained_;
  TaskGroup readers_;
};

}  // namespace specgen
