#pragma once
// Extracts the kernel from a model's answer, or says why there is none. Code is found in fences, in SEARCH/REPLACE
// hunks against the parent, and, without a fence, in the whole text. Of several blocks the last complete
// kernel counts (kernel_shape.h defines it); blocks are never joined, and truncated code is never
// taken for complete. Pure.

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "generate/model.h"

namespace specgen {

inline constexpr Bytes kMaxAnswerSize = MiB(4);
inline constexpr Bytes kMaxKernelSize = MiB(1);  // the limit of evaluation

struct AnswerToRead {
  std::string_view text;
  FinishReason finish = FinishReason::stop;
  std::string_view backend = "cpu";        // or "cuda"
  std::optional<std::string_view> parent;  // to which a diff applies
  std::string_view answer_start;           // Request::answer_start
  bool stops_at_fence = false;  // Request::stop has a fence: FinishReason::stop closes a block
};

enum class KernelForm { fenced, bare, diff };

struct ExtractedKernel {
  std::string source;
  KernelForm form = KernelForm::fenced;
  bool is_python = false;  // a ModelNew class
};

struct NoKernel {
  enum class Reason {
    empty,                // no text
    no_code,              // text without code
    truncated,            // cut off before the end of the kernel
    no_kernel,            // code that is not a kernel for the backend
    diff_without_parent,  // nothing to apply the diff to
    hunk_not_found,       // the parent does not contain the SEARCH part of hunk number `hunk`
    too_large,
  };
  Reason reason = Reason::empty;
  int hunk = 0;             // counts from 1
  std::string explanation;  // a sentence for display and for the model
};

std::string_view name_of(NoKernel::Reason reason);  // the enumerator's name

std::expected<ExtractedKernel, NoKernel> extract_kernel(const AnswerToRead& answer);

}  // namespace specgen
