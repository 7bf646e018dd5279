#pragma once
// A Python process in a box that answers our questions one at a time, over descriptor 3. Its program
// is carried inside ours (python/). Destroying it kills it. What it prints is kept, the end of it.
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

// An interpreter that has torch, and the folders that it must be able to read. On Debian 12
// `apt-get install python3-torch` (and libtorch-dev, pybind11-dev for load_inline) brings a torch
// for CPUs.
struct Python {
  std::filesystem::path executable;
  std::vector<std::filesystem::path> folders;  // beside those of every box
};
// tool_missing if there is no Python of that name, or none of its folders has torch. Imports nothing.
Task<Result<Python>> find_python(Processes& processes, std::string name = "python3");

// What a module with inline C++ must be able to read where $CXX is a compiler of the user's own: what it was installed
// with, /opt/gcc of /opt/gcc/bin/g++, but never a whole home. Nothing of those that every box has.
std::optional<std::filesystem::path> folder_of_compiler(std::string_view compiler,
                                                        const std::filesystem::path& home);

// What the processes of PyTorch tasks are started with; outlives them.
struct PythonHost {
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
  WrapCommand wrap;
  Python python;
  std::string device = "cpu";                      // or "cuda:0"
  int threads = 1;                                 // of torch, on a CPU
  SandboxLimits limits = {};                       // of each process
  std::filesystem::path scratch = "/tmp";          // inside the box
  std::filesystem::path cache = {};                // of precompiled headers; empty: nothing is kept
  Duration time_limit = std::chrono::seconds(60);  // of one answer

  bool on_gpu() const { return device != "cpu"; }
};

enum class PythonProgram : std::uint8_t { reference, model_new };

// A message, or how the process has ended instead.
struct PythonAnswer {
  Verdict ended = Verdict::ok;  // else crash, timeout or out_of_memory, and there is no message
  std::string how = {};         // "signal 11 (Segmentation fault)", and what it said last
  SocketMessage message = {};
};

class PythonProcess {
 public:
  static Result<std::unique_ptr<PythonProcess>> start(const PythonHost& host, PythonProgram program,
                                                      std::vector<std::filesystem::path> read_only);
  ~PythonProcess();

  // After an answer that tells of the end nobody answers any more. An Error is the host's fault.
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
