#pragma once
// What workflows ask of the kernels that are known. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include "search/prompt_store.h"
#include "search/workflow.h"

namespace specgen {

// Its own fault: what the machine or the harness did says nothing about a kernel.
bool is_failure(const KnownKernel& kernel);

// Newest last; of equal sources one.
std::vector<KnownKernel> latest_failures(const std::vector<KnownKernel>& kernels, std::size_t most);

// What an iteration came to: its fastest confirmed kernel, else its main one, else the last that was judged; null if
// there is none. Without speculation that is the main one.
const KnownKernel* result_of(const std::vector<KnownKernel>& kernels);

// The kernels of the newest iteration that found any.
std::vector<KnownKernel> newest_iteration(const std::vector<KnownKernel>& history);

// How many iterations have found kernels since this one.
std::size_t iterations_after(const std::vector<KnownKernel>& history, IterationId iteration);

// A prompt's beginning: which iteration it is for, and a seed of its own.
PromptRequest new_request(WorkflowContext& context, std::string role,
                          const KnownKernel* parent = nullptr);

}  // namespace specgen
