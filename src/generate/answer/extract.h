#pragma once
// The kernel in a model's answer, or why there is none. Code is looked for in fences, in SEARCH/REPLACE
// hunks against the parent, and, without a fence, in the whole text. Of several blocks the last whole
// kernel counts (kernel_shape.h says what is one); blocks are never joined, and what was cut off is never
// taken for whole. Pure.

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "generate/model.h"

namespace specgen {

inline constexpr Bytes kLargestAnswer = MiB(4);
inline constexpr Bytes kLargestKernel = MiB(1);  // what evaluation takes

struct AnswerToRead {
  std::string_view text;
  FinishReason finish = FinishReason::stop;
  std::string_view backend = "cpu";        // or "cuda"
  std::optional<std::string_view> parent;  // what a diff is against
  std::string_view answer_start;           // what Request::answer_start put before the text
  bool stops_at_fence = false;             // a fence is among Request::stop: `stop` closes a block
};

enum class KernelForm { fenced, bare, diff };

struct ExtractedKernel {
  std::string source;
  KernelForm form = KernelForm::fenced;
  bool is_python = false;  // a ModelNew class
};

struct NoKernel {
  enum class Reason {
    empty,                // no text at all
    no_code,              // text, and no code in it
    truncated,            // cut off before the kernel was whole
    no_kernel,            // code that is no kernel for the backend
    diff_without_parent,  // nothing to apply it to
    hunk_not_found,       // the parent does not have what hunk number `hunk` replaces
    too_large,
  };
  Reason reason = Reason::empty;
  int hunk = 0;             // counts from 1
  std::string explanation;  // a sentence, for people and for the model
};

std::string_view name_of(NoKernel::Reason reason);  // as in the enumeration

std::expected<ExtractedKernel, NoKernel> extract_kernel(const AnswerToRead& answer);

}  // namespace specgen
