#pragma once
// A workflow is a search policy: it makes prompts from what is known and decides what to do next. It knows nothing of
// streams, devices or processes; it asks its WorkflowContext. Whether the context speculates is none of its business.
//
//   Task<Result<void>> refine(WorkflowContext& context) {
//     while (context.may_continue()) CO_TRY(co_await context.write_kernel(improve(context.history())));
//   }
//
// A workflow that is started again after a kill finds what was known in history(), and must go on from there.

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

// A prompt, and what it is about: the prose for language models, the context for other readers.
struct Prompt {
  std::vector<Message> messages;  // with the block of the context in the last one
  PromptContext context;
  CandidateId parent;  // whose source the context shows, if any
};

// One judged candidate, with everything a prompt may tell of it.
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
  std::vector<KnownKernel> kernels;  // judged before it ended, the main one last if there is one
  std::string reasoning;             // the end of it, for workflows that reflect
  std::string note;
  const KnownKernel* best() const;  // fastest confirmed; null if none
};

// The prompt that asks for a failed kernel to be mended; it follows the one that led to the kernel.
using RepairPrompter = std::function<Prompt(const KnownKernel& failed)>;

class WorkflowContext {
 public:
  virtual ~WorkflowContext() = default;

  virtual const RunTask& task() const = 0;
  virtual std::uint32_t task_number() const = 0;  // in the run
  virtual const std::vector<KnownKernel>& history()
      const = 0;  // oldest first; late ones are added as they come, tuned ones a second time
  virtual std::int64_t iterations_begun() const = 0;
  virtual bool may_continue() const = 0;  // budgets, a target that was reached, an interrupt
  virtual Random& random() = 0;

  // One iteration. An error ends the run (disk full, no device left); what the model does wrong is an outcome.
  virtual Task<Result<IterationOutcome>> write_kernel(Prompt prompt) = 0;
  // Another role's answer: no kernel, no iteration. Empty if the model failed.
  virtual Task<Result<std::string>> advise(Prompt prompt) = 0;
  // Several at once: kernelagent's parallel seeds. One outcome for each prompt, in their order; those for which there
  // is no iteration left in the budget are `interrupted`.
  virtual Task<Result<std::vector<IterationOutcome>>> write_kernels(std::vector<Prompt> prompts,
                                                                    bool first_pass_wins) = 0;
  // How kernels that fail are mended while others are still thought of. Without it they are not.
  virtual void repair_with(RepairPrompter prompter) = 0;
  // Runs workers of a workflow side by side, until all have ended; they may use whatever outlives this call.
  virtual Task<Result<void>> side_by_side(std::vector<Task<Result<void>>> workers) = 0;
};

}  // namespace specgen
