#pragma once
// A workflow is a search policy: it makes prompts from the history and decides what to do next. It knows nothing about
// streams, devices, processes or speculation; it uses its WorkflowContext.
//
//   Task<Result<void>> refine(WorkflowContext& context) {
//     while (context.may_continue()) CO_TRY(co_await context.write_kernel(improve(context.history())));
//   }
//
// A workflow of a resumed run finds the earlier results in history() and must continue from them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "generate/model.h"
#include "generate/prompt_context.h"
#include "runtime/task.h"
#include "search/run_state.h"

namespace specgen {

// A prompt: the text for language models, and the same as data for other readers.
struct Prompt {
  std::vector<Message> messages;  // with the block of the context in the last one
  PromptContext context;
  CandidateId parent;  // whose source the context shows, if any
};

// One evaluated candidate, with everything that a prompt may contain about it.
struct KnownKernel {
  CandidateId id;
  CandidateId parent;
  IterationId iteration;
  Origin origin = Origin::main;
  std::string source;
  Verdict verdict = Verdict::harness_error;
  Speedup speedup;
  bool profiled = false;
  std::string feedback;  // text for a prompt: verdict and evidence, or what the profile says
  std::string profile;   // JSON, or "null"
};

// Profiled and right: its speedup counts.
bool is_confirmed(const KnownKernel& kernel);
// Confirmed ones, the fastest first; of equal sources one, and of one that was tuned the faster.
std::vector<KnownKernel> fastest(const std::vector<KnownKernel>& kernels, std::size_t most);

struct IterationOutcome {
  IterationId id;
  IterationEnd end = IterationEnd::answered;
  std::vector<KnownKernel> kernels;  // evaluated before it ended; the main one last
  std::string reasoning;             // the end of it, for workflows that reflect
  std::string note;
  const KnownKernel* best() const;  // fastest confirmed; null if none
};

// Makes the prompt for the repair of a failed kernel; it follows the prompt that led to the kernel.
using RepairPrompter = std::function<Prompt(const KnownKernel& failed)>;

class WorkflowContext {
 public:
  virtual ~WorkflowContext() = default;

  virtual const RunTask& task() const = 0;
  virtual std::uint32_t task_number() const = 0;  // in the run
  // Oldest first; results are added as they come, a tuned candidate a second time.
  virtual const std::vector<KnownKernel>& history() const = 0;
  virtual std::int64_t iterations_begun() const = 0;
  virtual bool may_continue() const = 0;  // budgets, a target that was reached, an interrupt
  virtual Random& random() = 0;

  // One iteration. An error ends the run (disk full, no device left); a model's failure is an outcome.
  virtual Task<Result<IterationOutcome>> write_kernel(Prompt prompt) = 0;
  // The answer of another role; no kernel, no iteration. Empty if the model failed.
  virtual Task<Result<std::string>> advise(Prompt prompt) = 0;
  // Parallel iterations, such as kernelagent's seeds: one outcome per prompt, in their order. Prompts for which the
  // budget has no iteration left are `interrupted`.
  virtual Task<Result<std::vector<IterationOutcome>>> write_kernels(std::vector<Prompt> prompts,
                                                                    bool first_pass_wins) = 0;
  // How failed kernels are repaired while the reasoning continues; without it they are not.
  virtual void repair_with(RepairPrompter prompter) = 0;
  // Runs parallel workers of a workflow until all have ended; what they use must outlive this call.
  virtual Task<Result<void>> side_by_side(std::vector<Task<Result<void>>> workers) = 0;
};

}  // namespace specgen
