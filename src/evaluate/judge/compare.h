#pragma once
// Is an output right? Each element may differ from the fp64 reference by what honest rounding in the
// task's precision can do: tolerance * u * (2 + sqrt(terms)) * scale, where scale is the sum of the
// absolute terms behind that element, which the reference tells, plus the rounding of the output
// itself. Beside that the RMS error over all elements may not exceed the baseline's own by a
// factor: that is what finds a quiet loss of precision (fp16 or tf32 inside an fp32 task).

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "evaluate/task/cases.h"
#include "evaluate/task/dtype.h"
#include "evaluate/verdict.h"

namespace specgen {

// What the reference says of one output tensor: all of it, a piece, or secret samples of it.
struct Expected {
  std::vector<std::int64_t> at;  // flat indices; empty: elements in order,
  std::int64_t first = 0;        // from this one on
  std::vector<double> value;
  std::vector<double> scale;  // sum of absolute terms; as long as value
  std::uint64_t key = 0;      // the same key, the same contents: may be kept by it; 0: unknown
};

struct Tolerance {
  double scale_factor = 0;  // times scale
  double value_factor = 0;  // times |value|: the output's own rounding
  double rms_factor = 4;    // times the baseline's RMS error
};
Tolerance tolerance_of(const CheckPolicy& policy, const Case& of, Dtype output);

// The test of one element, for the host and for specgen_compare on a device alike:
//   |got - value| <= scale_factor * scale + value_factor * |value| + floor
// A NaN never passes it. Where the reference is not finite, got must be the same infinity or also
// a NaN. Where |value| and its bound reach `overflow`, which rounds to infinity, got may be that
// infinity. An integer that holds its poison counts as unwritten only if it is wrong.
struct Bounds {
  double scale_factor = 0;
  double value_factor = 0;
  double floor = 0;     // what the least numbers of the dtype cannot tell apart; 0 for integers
  double overflow = 0;  // infinity: there is none
};
Bounds bounds_of(const Tolerance& tolerance, Dtype output);
// Two outputs are compared, and each may be off by as much.
Bounds baseline_bounds_of(const Tolerance& tolerance, Dtype output);

// What a look at one output found. Merges, so that tensors can be looked at in pieces; the blocks of
// specgen_compare write it in just this layout.
struct OutputReport {
  std::int64_t elements = 0;
  std::int64_t unwritten = 0;  // still poison
  std::int64_t nonfinite = 0;  // where the reference is finite
  std::int64_t beyond = 0;     // outside the bound
  std::int64_t worst_at =
      -1;                  // flat index of the first unwritten, else first nonfinite, else worst
  double worst_ratio = 0;  // error over bound
  double worst_expected = 0;
  double worst_got = 0;
  double worst_relative = 0;  // error over scale, of those beyond; infinity where scale is 0
  double error_squares = 0;   // sum over what is finite, for the RMS
  double value_squares = 0;

  double rms_error() const;
  double rms_value() const;
};
void merge(OutputReport& into, const OutputReport& more);

// `got` is the whole tensor, whatever part of it is expected.
OutputReport compare(const Tensor& tensor, std::span<const std::byte> got, const Expected& expected,
                     const Tolerance& tolerance, Poison poison);

// Candidate against baseline on the same input where there is no full reference: every element, with
// one scale for all; or those of a piece.
struct Piece {
  std::int64_t first = 0;
  std::int64_t count = -1;  // all that follow
};
OutputReport compare_with_baseline(const Tensor& tensor, std::span<const std::byte> got,
                                   std::span<const std::byte> baseline, double scale,
                                   const Tolerance& tolerance, Poison poison, Piece piece = {});

// From numbers to a verdict: unwritten before nonfinite before wrong (beyond the bound by more than
// 2 % of the scale) before imprecise. `baseline_rms` < 0: not known. Of a hidden case the text tells
// the class and roughly how many elements are meant: an exact number of them would tell its shape.
Finding judge_output(const Case& of, const Tensor& tensor, const OutputReport& report,
                     const Tolerance& tolerance, double baseline_rms);

}  // namespace specgen
