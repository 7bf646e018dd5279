// AlphaEvolve, as OpenEvolve does it (map_elites.h): islands take turns; each iteration draws a parent and others that
// may inspire from one island, asks for a diff, and adds the result to that island, failures with fitness 0. The
// first program is the baseline, or the kernel that the run was started from.
//
// The population is a fold over the history, so that a resumed run has the same islands, and kernels that speculation
// found or that were judged late are in it like all others. Which island an iteration belongs to follows from the
// order in which iterations first show up there.

#include <map>

#include "search/workflows.h"
#include "search/workflows/kernel_queries.h"
#include "search/workflows/map_elites.h"

namespace specgen {
namespace {

KnownKernel first_program(const TaskBrief& brief) {
  KnownKernel kernel;
  kernel.source = brief.baseline;
  kernel.verdict = Verdict::ok;
  kernel.speedup = {.median = 1, .low = 1, .high = 1};
  kernel.profiled = true;
  kernel.feedback = "This is the baseline.";
  kernel.profile = "null";
  return kernel;
}

class Evolution {
 public:
  Evolution(const EvolutionSettings& settings, const TaskBrief& brief,
            const std::vector<KnownKernel>& history)
      : islands_(settings.islands), population_(settings) {
    bool was_started_from_one = !history.empty() && history.front().iteration == IterationId{};
    if (!brief.is_pytorch && !was_started_from_one) population_.add(first_program(brief), 0);
    island_of_[IterationId{}] = 0;
  }

  void absorb(const std::vector<KnownKernel>& history) {
    for (; absorbed_ < history.size(); ++absorbed_) {
      const KnownKernel& kernel = history[absorbed_];
      if (kernel.verdict != Verdict::ok && !is_failure(kernel)) continue;
      auto [found, is_new] = island_of_.try_emplace(kernel.iteration, turn_);
      population_.add(kernel, found->second);
      if (!is_new) continue;
      population_.end_generation(turn_);
      turn_ = (turn_ + 1) % islands_;
    }
  }

  std::size_t turn() const { return turn_; }
  const MapElites& population() const { return population_; }

 private:
  std::size_t islands_;
  MapElites population_;
  std::map<IterationId, std::size_t> island_of_;
  std::size_t turn_ = 0;  // the island whose iteration is next
  std::size_t absorbed_ = 0;
};

Prompt evolve(WorkflowContext& context, const WorkflowSetup& setup, const TaskBrief& brief,
              const Evolution& evolution) {
  if (evolution.population().empty()) {
    return setup.prompts.make("alphaevolve_start", brief, new_request(context, "writer"));
  }
  Selection chosen = evolution.population().select(evolution.turn(), context.random());
  bool rewrite = context.random().chance(setup.evolution.rewrites);
  PromptRequest request = new_request(context, rewrite ? "writer" : "diff", &chosen.parent);
  request.lists = {{.name = "attempts", .kernels = chosen.top, .with_source = false},
                   {.name = "top", .kernels = chosen.top},
                   {.name = "diverse", .kernels = chosen.diverse},
                   {.name = "inspirations", .kernels = chosen.inspirations}};
  return setup.prompts.make(rewrite ? "alphaevolve_rewrite" : "alphaevolve_diff", brief, request);
}

}  // namespace

Task<Result<void>> alphaevolve(WorkflowContext& context, WorkflowSetup setup, TaskBrief brief) {
  Evolution evolution(setup.evolution, brief, context.history());
  while (context.may_continue()) {
    evolution.absorb(context.history());
    CO_TRY(co_await context.write_kernel(evolve(context, setup, brief, evolution)));
  }
  co_return Result<void>();
}

}  // namespace specgen
