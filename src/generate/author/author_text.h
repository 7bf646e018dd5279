#pragma once
// All that the author says to a request: its reasoning, then its answer. A pure function of options, request
// and choice; author_model.h gives it time.

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

// What the author is, for everybody who asks.
inline constexpr std::string_view kAuthorIsNoModel =
    "specgen-author is a deterministic program that writes kernels from plans; it is not a "
    "language model";

// Request::prefix with Mode::answer is a fork; with Mode::reason the reasoning goes on from it. An error if
// the prompt's specgen-context is damaged.
Result<AuthorText> author_text(const AuthorOptions& options, const Request& request, int choice);

}  // namespace specgen
