#pragma once
// The author's complete text for a request: its reasoning, then its answer. A pure function of options, request
// and choice; author_model.h streams it at a pace.

#include <string>
#include <string_view>

#include "base/error.h"
#include "generate/author/author_options.h"
#include "generate/model.h"

namespace specgen {

struct AuthorText {
  std::string reasoning;
  std::string content;
};

// For clients that ask what the author is.
inline constexpr std::string_view kAuthorIsNoModel =
    "specgen-author is a deterministic program that writes kernels from plans; it is not a "
    "language model";

// Request::prefix with Mode::answer is a fork; with Mode::reason the reasoning continues from it. For a task without a
// plan the answer repeats the source in the prompt. An error if the prompt's specgen-context is damaged.
Result<AuthorText> author_text(const AuthorOptions& options, const Request& request, int choice);

// An error if the prompt names a task and backend for which the author has no plan (find_plan()). A prompt without a
// task is accepted.
Result<void> check_has_plan(const Request& request);

}  // namespace specgen
