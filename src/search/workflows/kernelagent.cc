// KernelAgent (meta-pytorch). First, as KernelFalcon: parallel workers write seeds and repair them round by round, and
// the first kernel that passes wins. Then beam search: of each of the fastest kernels several workers diagnose one
// bottleneck, write a kernel that removes it, repair it if it fails, and reflect on the result; the next round
// starts from the fastest of all and knows the latest attempts and reflexions.
//
// A resumed run, or one that is started from a kernel that works, continues with the beam. Reflexions are not written
// down: after a resume they start empty. Workers that find no kernel in all their rounds start over as well, where the
// original gives up.

#include <algorithm>
#include <boost/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "search/workflows.h"
#include "search/workflows/kernel_queries.h"

namespace specgen {
namespace {

constexpr std::size_t kSeeds = 4;
constexpr int kSeedRounds = 10;
constexpr std::size_t kBeam = 2;         // kernels that are kept
constexpr std::size_t kDirections = 2;   // bottlenecks that are followed, of each
constexpr int kRepairs = 3;              // of a kernel that fails
constexpr std::size_t kShownRounds = 8;  // of a worker that repairs its seed
constexpr std::size_t kTold = 5;         // attempts and reflexions in a prompt

using Kernels = std::vector<KnownKernel>;

Kernels last_of(const Kernels& kernels, std::size_t most) {
  return {kernels.end() - static_cast<std::ptrdiff_t>(std::min(most, kernels.size())),
          kernels.end()};
}

// The diagnosis that a worker is to follow; all that was said if it is no such JSON.
std::string one_bottleneck(const std::string& said, std::size_t direction) {
  std::size_t begin = said.find('{');
  std::size_t end = said.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return said;
  auto json = parse_json(std::string_view(said).substr(begin, end + 1 - begin));
  const Json* found = json ? member_at(*json, "bottlenecks") : nullptr;
  const auto* all = found ? found->if_array() : nullptr;
  if (!all || all->empty()) return said;
  return pretty_json((*all)[direction < all->size() ? direction : 0]);
}

class KernelAgent {
 public:
  KernelAgent(WorkflowContext& context, const PromptStore& prompts, const TaskBrief& brief)
      : context_(context),
        prompts_(prompts),
        brief_(brief),
        attempts_(last_of(context.history(), kTold)) {}

  bool has_kernel() const { return !fastest(context_.history(), 1).empty(); }

  // Every worker has a chain of its own; none looks at what the others do.
  Task<Result<void>> find_a_kernel() {
    std::vector<Kernels> workers(kSeeds);
    Kernels failures = latest_failures(context_.history(), kSeeds);
    for (std::size_t i = 0; i < failures.size(); ++i) workers[i].push_back(failures[i]);
    for (int round = 1; context_.may_continue() && !has_kernel(); ++round) {
      std::vector<Prompt> prompts;
      for (const Kernels& chain : workers) prompts.push_back(seed_or_repair(chain));
      auto outcomes = CO_TRY(co_await context_.write_kernels(std::move(prompts), true));
      for (std::size_t i = 0; i < outcomes.size() && i < workers.size(); ++i) {
        if (const KnownKernel* made = result_of(outcomes[i].kernels)) workers[i].push_back(*made);
      }
      if (round % kSeedRounds == 0) workers.assign(kSeeds, {});
    }
    co_return Result<void>();
  }

  Task<Result<void>> beam_round() {
    Kernels top = fastest(context_.history(), kBeam);
    std::vector<Attempt> attempts(kBeam * kDirections);
    std::vector<Task<Result<void>>> workers;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      attempts[i].parent =
          top[std::min(i / kDirections, top.size() - 1)];  // one kernel: copies of it
      attempts[i].direction = i % kDirections;
      workers.push_back(work(attempts[i]));
    }
    CO_TRY(co_await context_.side_by_side(std::move(workers)));
    for (Attempt& attempt : attempts) {
      if (attempt.made) attempts_.push_back(std::move(*attempt.made));
      if (!trim(attempt.reflexion).empty()) reflexions_.push_back(std::move(attempt.reflexion));
    }
    attempts_ = last_of(attempts_, kTold);
    if (reflexions_.size() > kTold) {
      reflexions_.erase(reflexions_.begin(), reflexions_.end() - std::ptrdiff_t{kTold});
    }
    co_return Result<void>();
  }

 private:
  struct Attempt {
    KnownKernel parent;
    std::size_t direction = 0;
    std::optional<KnownKernel> made = {};
    std::string diagnosis = {};
    std::string reflexion = {};
  };

  Task<Result<void>> work(Attempt& attempt) {
    std::string said = CO_TRY(co_await context_.advise(prompts_.make(
        "kernelagent_bottleneck", brief_, new_request(context_, "bottleneck", &attempt.parent))));
    if (!context_.may_continue()) co_return Result<void>();
    attempt.diagnosis = one_bottleneck(said, attempt.direction);
    IterationOutcome outcome = CO_TRY(co_await context_.write_kernel(optimise(attempt)));
    take(outcome, attempt);
    for (int i = 0; i < kRepairs && attempt.made && is_failure(*attempt.made); ++i) {
      if (!context_.may_continue()) break;
      outcome = CO_TRY(co_await context_.write_kernel(seed_or_repair({*attempt.made})));
      take(outcome, attempt);
    }
    if (!attempt.made || !context_.may_continue()) co_return Result<void>();
    attempt.reflexion = CO_TRY(co_await context_.advise(reflect(attempt)));
    co_return Result<void>();
  }

  static void take(const IterationOutcome& outcome, Attempt& attempt) {
    if (const KnownKernel* made = result_of(outcome.kernels)) attempt.made = *made;
  }

  Prompt seed_or_repair(const Kernels& chain) {
    if (chain.empty())
      return prompts_.make("kernelagent_seed", brief_, new_request(context_, "writer"));
    PromptRequest request = new_request(context_, "repair", &chain.back());
    Kernels before = last_of(chain, kShownRounds + 1);
    before.pop_back();
    request.lists = {{.name = "attempts", .kernels = std::move(before), .with_source = false}};
    return prompts_.make("kernelagent_refine", brief_, request);
  }

  Prompt optimise(const Attempt& attempt) {
    PromptRequest request = new_request(context_, "writer", &attempt.parent);
    request.lists = {{.name = "attempts", .kernels = attempts_}};
    request.advice = attempt.diagnosis;
    request.reflexions = join(reflexions_, "\n\n");
    return prompts_.make("kernelagent_optimise", brief_, request);
  }

  Prompt reflect(const Attempt& attempt) {
    PromptRequest request = new_request(context_, "reflexion", &attempt.parent);
    request.lists = {{.name = "attempts", .kernels = {*attempt.made}}};
    request.advice = attempt.diagnosis;
    return prompts_.make("kernelagent_reflexion", brief_, request);
  }

  WorkflowContext& context_;
  const PromptStore& prompts_;
  const TaskBrief& brief_;
  Kernels attempts_;  // the latest, what each worker came to
  std::vector<std::string> reflexions_;
};

}  // namespace

Task<Result<void>> kernelagent(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief) {
  KernelAgent agent(context, setup.prompts, brief);
  if (!agent.has_kernel()) CO_TRY(co_await agent.find_a_kernel());
  while (context.may_continue() && agent.has_kernel()) CO_TRY(co_await agent.beam_round());
  co_return Result<void>();
}

}  // namespace specgen
