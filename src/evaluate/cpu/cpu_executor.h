#pragma once
// The judge's handle on an executor process (cpu_executor_process.h): one shared object, one case
// at a time. call() spins until the executor is done: waiting asleep would add the judge's own
// wake-up to the time.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/cpu/call_mailbox.h"
#include "evaluate/cpu/cpu_layout.h"
#include "evaluate/cpu/shared_file.h"
#include "evaluate/judge/judge_context.h"
#include "evaluate/verdict.h"
#include "runtime/message_socket.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct CpuExecutorSettings {
  std::vector<int> cores;  // one thread on each
  Bytes memory = GiB(4);
};

struct CpuProgram {
  std::string entry;
  std::string binary;
  bool strict = true;  // computing_filter() applies. A reference, not strict, may use the C library
};

// The duration of a call by the judge's clock and by the kernel's count of processor time, which is
// exact once the executor sleeps again.
struct CallTiming {
  std::int64_t wall_ns = 0;   // from go to done
  std::int64_t awake_ns = 0;  // from ready to done: the time in which it may use its cores
  std::int64_t cpu_ns = 0;    // of all threads, from sleep to sleep
  bool fell_asleep = true;
};

// What the judge does during a call while its clock does not run.
struct CallHooks {
  std::function<void()> before_go = {};
  std::function<void()> at_done = {};  // immediately; the executor may not sleep yet
};

class CpuExecutor {
 public:
  // Starts the process, and does not wait for it.
  static Result<std::unique_ptr<CpuExecutor>> start(JudgeContext& context,
                                                    CpuExecutorSettings settings);
  ~CpuExecutor();

  // Waits until it can load a program.
  Task<Result<void>> ready();
  // Once. The finding reports a shared object that does not load.
  Task<Result<void>> load(CpuProgram program, Finding& finding);

  // `files` are those that layout.sets refer to. Replaces the last case. Not ok: the process of the
  // last case did not end.
  Task<Result<Finding>> lay_out(const CpuLayout& layout, std::vector<int> files);

  // Not ok: the process has ended, or was killed because it took longer than `limit`.
  Task<Result<Finding>> call(std::size_t set, Duration limit, CallTiming& timing,
                             CallHooks hooks = {});

  // Ends the process of the current case and waits for it. Not ok: it did not end.
  Task<Result<Finding>> end_case();

  pid_t pid() const { return pid_; }  // of the case's process
  // Readable once the process of the last case has ended. Null: there was none, or, if files were
  // sent, it is unknown which process has them.
  const std::shared_ptr<const Fd>& case_process() const { return case_process_; }
  bool has_sent_files() const { return has_sent_files_; }

  // For references: calls the entry on set 0 for each range, then ends the case.
  Task<Result<Finding>> run_ranges(const CpuLayout& layout, std::vector<int> files,
                                   std::vector<std::pair<std::int64_t, std::int64_t>> ranges,
                                   Duration limit);

 private:
  CpuExecutor(JudgeContext& context, CpuExecutorSettings settings, SandboxedCommand sandboxed,
              Process process, MessageSocket socket);
  Task<Result<Finding>> begin_case(const CpuLayout& layout, std::vector<int> files,
                                   std::vector<std::pair<std::int64_t, std::int64_t>> ranges);
  Task<Result<Finding>> explain_end(Duration limit);
  Finding did_not_return();
  bool has_message() const;
  bool wait_until_asleep() const;
  Finding died(int signal, int code) const;

  JudgeContext& context_;
  CpuExecutorSettings settings_;
  SandboxedCommand sandboxed_;  // destroyed after the process
  Process process_;
  MessageSocket socket_;
  bool is_ready_ = false;
  SharedFile mailbox_file_;
  CallMailbox* mailbox_ = nullptr;  // of the current case; null if there is none
  CpuLayout layout_;
  std::vector<std::vector<std::uint64_t>> addresses_;  // of the mappings
  pid_t pid_ = 0;                                      // of the case's process, outside the sandbox
  std::vector<pid_t> threads_;                         // of the same
  std::shared_ptr<const Fd> case_process_;
  bool has_sent_files_ = false;
  std::uint32_t rung_ = 0;
  std::int64_t cpu_asleep_ = 0;  // processor time when it last fell asleep
};

}  // namespace specgen
