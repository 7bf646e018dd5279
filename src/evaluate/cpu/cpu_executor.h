#pragma once
// The judge's handle on an executor process (executor_process.h): one shared object, one case at a
// time. call() spins until the answer comes: the judge's process has nothing better to do, and a
// clock that sleeps measures its own waking up.

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
  bool strict = true;  // for a candidate: nothing but computing. A reference may use the C library
};

// How a call went by the judge's clock and by the kernel's count of processor time, which is exact
// once the executor sleeps again.
struct CallTiming {
  std::int64_t wall_ns = 0;   // from go to done
  std::int64_t awake_ns = 0;  // from being ready to done: what it may have used its cores for
  std::int64_t cpu_ns = 0;    // from sleep to sleep, all threads
  bool fell_asleep = true;
};

// What the judge does in a call while its clock does not run.
struct CallHooks {
  std::function<void()> before_go = {};
  std::function<void()> at_done = {};  // at once; the executor may still be about to fall asleep
};

class CpuExecutor {
 public:
  // Starts the process; it gets ready by itself.
  static Result<std::unique_ptr<CpuExecutor>> start(JudgeContext& context,
                                                    CpuExecutorSettings settings);
  ~CpuExecutor();

  // Until it waits for its program.
  Task<Result<void>> ready();
  // Once. The finding tells of a shared object that does not load.
  Task<Result<void>> load(CpuProgram program, Finding& finding);

  // `files` are what layout.sets refer to. Replaces the last case. Not ok: the process of the last
  // case did not end when it was told to.
  Task<Result<Finding>> lay_out(const CpuLayout& layout, std::vector<int> files);

  // Not ok: the process has ended, or was ended because it took longer than `limit`.
  Task<Result<Finding>> call(std::size_t set, Duration limit, CallTiming& timing,
                             CallHooks hooks = {});

  // Tells the process of the case that is laid out to end, and waits for it. Not ok: it did not.
  Task<Result<Finding>> end_case();

  pid_t pid() const { return pid_; }  // of the process that runs the case
  // Readable once the process of the last case is gone. Null: there was none, or, if files were sent all the same,
  // nobody knows who has them.
  const std::shared_ptr<const Fd>& case_process() const { return case_process_; }
  bool has_sent_files() const { return has_sent_files_; }

  // A reference's job: calls the entry on set 0 for each range, then the case is over.
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
  bool something_came() const;
  bool wait_until_asleep() const;
  Finding died(int signal, int code) const;

  JudgeContext& context_;
  CpuExecutorSettings settings_;
  SandboxedCommand sandboxed_;  // destroyed after the process
  Process process_;
  MessageSocket socket_;
  bool is_ready_ = false;
  SharedFile mailbox_file_;
  CallMailbox* mailbox_ = nullptr;  // of the case that is laid out; null if there is none
  CpuLayout layout_;
  std::vector<std::vector<std::uint64_t>> addresses_;  // of the mappings
  pid_t pid_ = 0;                                      // of the case's process, as we see it
  std::vector<pid_t> threads_;                         // of the same
  std::shared_ptr<const Fd> case_process_;
  bool has_sent_files_ = false;
  std::uint32_t rung_ = 0;
  std::int64_t cpu_asleep_ = 0;  // processor time when it last went to sleep
};

}  // namespace specgen
