#include "evaluate/task/data_cuda_source.h"

#include "evaluate/task/dtype.h"
#include "evaluate/task/kernel_task.h"

namespace specgen {

// The device code counts on these.
static_assert(static_cast<int>(Dtype::f64) == 0 && static_cast<int>(Dtype::f32) == 1 &&
              static_cast<int>(Dtype::f16) == 2 && static_cast<int>(Dtype::bf16) == 3 &&
              static_cast<int>(Dtype::i64) == 4 && static_cast<int>(Dtype::i32) == 5 &&
              static_cast<int>(Dtype::u8) == 6);
static_assert(static_cast<int>(Distribution::Kind::normal) == 0 &&
              static_cast<int>(Distribution::Kind::uniform) == 1 &&
              static_cast<int>(Distribution::Kind::heavy) == 2 &&
              static_cast<int>(Distribution::Kind::positive) == 3 &&
              static_cast<int>(Distribution::Kind::integers) == 4 &&
              static_cast<int>(Distribution::Kind::signs) == 5);

const std::string_view kInputKernelSource = R"cuda(
typedef unsigned long long Word;
typedef long long Index;

enum { kF64, kF32, kF16, kBf16, kI64, kI32, kU8 };
enum { kNormal, kUniform, kHeavy, kPositive, kIntegers, kSigns };

__device__ Word counter_hash(Word seed, Word index) {
  Word word = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
  return word ^ (word >> 31);
}

// To nearest even; f16 has 10 bits of mantissa and bias 15, bf16 has 7 and 127.
__device__ unsigned short round_float(float value, int mantissa, int bias) {
  unsigned bits = __float_as_uint(value);
  unsigned magnitude = bits & 0x7fffffffU;
  int dropped = 23 - mantissa;
  unsigned infinity = (unsigned)(2 * bias + 1) << mantissa;
  unsigned ties_to_even = (1U << (dropped - 1)) - 1 + ((magnitude >> dropped) & 1);
  unsigned result = ((magnitude + ties_to_even) >> dropped) - ((unsigned)(127 - bias) << mantissa);
  if (magnitude < (unsigned)(128 - bias) << 23) {
    unsigned anchor = (unsigned)(151 - bias - mantissa) << 23;
    result = __float_as_uint(__fadd_rn(__uint_as_float(magnitude), __uint_as_float(anchor))) - anchor;
  }
  if (result > infinity) result = infinity;
  if (magnitude > 0x7f800000U) {
    result = infinity | 1U << (mantissa - 1) | ((magnitude >> dropped) & ((1U << mantissa) - 1));
  }
  return (unsigned short)(result | (bits >> 16 & 0x8000U));
}

__device__ float half_value(unsigned short half) {
  unsigned magnitude = half & 0x7fffU;
  unsigned bits = (magnitude << 13) + (112U << 23);
  if (magnitude < 0x400) bits = __float_as_uint(__fmul_rn((float)magnitude, 5.9604644775390625e-8f));
  if (magnitude >= 0x7c00) bits = magnitude << 13 | 0x7f800000U;
  return __uint_as_float(bits | (half & 0x8000U) << 16);
}

__device__ void store_float(void* tensor, int dtype, Index i, float value) {
  if (dtype == kF32) ((float*)tensor)[i] = value;
  if (dtype == kF16) ((unsigned short*)tensor)[i] = round_float(value, 10, 15);
  if (dtype == kBf16) ((unsigned short*)tensor)[i] = round_float(value, 7, 127);
}

__device__ double load_value(const void* tensor, int dtype, Index i) {
  switch (dtype) {
    case kF64: return ((const double*)tensor)[i];
    case kF32: return (double)((const float*)tensor)[i];
    case kF16: return (double)half_value(((const unsigned short*)tensor)[i]);
    case kBf16: return (double)__uint_as_float((unsigned)((const unsigned short*)tensor)[i] << 16);
    case kI64: return (double)((const long long*)tensor)[i];
    case kI32: return (double)((const int*)tensor)[i];
    default: return (double)((const unsigned char*)tensor)[i];
  }
}

__device__ Word load_bits(const void* tensor, int dtype, Index i) {
  switch (dtype) {
    case kF64: case kI64: return ((const Word*)tensor)[i];
    case kF32: case kI32: return ((const unsigned*)tensor)[i];
    case kF16: case kBf16: return ((const unsigned short*)tensor)[i];
    default: return ((const unsigned char*)tensor)[i];
  }
}

__device__ Word poison_bits(int dtype, Word secret, Index i) {
  Word hash = counter_hash(secret, dtype <= kBf16 ? 0 : (Word)i);
  switch (dtype) {
    case kF64: return 0x7ff8000000000000ULL | (1 + hash % ((1ULL << 51) - 2));
    case kF32: return 0x7fc00000ULL | (1 + hash % 0x3ffffeULL);
    case kF16: return 0x7e00ULL | (1 + hash % 0x1feULL);
    case kBf16: return 0x7fc0ULL | (1 + hash % 0x3eULL);
    case kI64: return hash;
    case kI32: return hash & 0xffffffffULL;
    default: return hash & 0xffULL;
  }
}

__device__ Index first_index() { return (Index)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ Index index_step() { return (Index)gridDim.x * blockDim.x; }

extern "C" __global__ void specgen_fill(void* tensor, int dtype, Index elements, int kind, double a,
                                        double b, Word seed) {
  bool whole = kind == kIntegers || kind == kSigns;
  Index stride = kind == kSigns ? 2 : 1;
  bool is_sum = kind == kNormal || kind == kHeavy;
  double spread = kind == kNormal ? b / 37837.22724 : kind == kHeavy ? a / 37837.22724 : b - a;
  double step = is_sum ? spread : __dmul_rn(spread, 1.1102230246251565e-16);
  float float_step = is_sum ? (float)spread : __fmul_rn((float)spread, 5.9604644775390625e-8f);
  float float_centre = (float)a;
  for (Index i = first_index(); i < elements; i += index_step()) {
    Word hash = counter_hash(seed, (Word)i);
    if (whole) {
      long long value = (long long)a + stride * (long long)__umul64hi(hash, kind == kSigns ? 2 : (Word)spread);
      if (dtype == kF64) ((double*)tensor)[i] = (double)value;
      else if (dtype == kI64) ((long long*)tensor)[i] = value;
      else if (dtype == kI32) ((int*)tensor)[i] = (int)value;
      else if (dtype == kU8) ((unsigned char*)tensor)[i] = (unsigned char)value;
      else store_float(tensor, dtype, i, (float)value);
      continue;
    }
    Word pairs = (hash & 0x0000ffff0000ffffULL) + (hash >> 16 & 0x0000ffff0000ffffULL);
    int centred = (int)(pairs & 0xffffffffULL) + (int)(pairs >> 32) - 131070;
    int exponent = (int)((hash * 0xd1342543de82ef95ULL >> 32) * 13 >> 32) - 6;
    if (dtype == kF64) {
      double value = __dmul_rn(is_sum ? (double)centred : (double)(long long)(hash >> 11), step);
      if (kind == kHeavy) value = __dmul_rn(value, __longlong_as_double((long long)(1023 + exponent) << 52));
      else value = __dadd_rn(value, a);
      ((double*)tensor)[i] = value;
    } else {
      float value = __fmul_rn(is_sum ? (float)centred : (float)(int)(hash >> 40), float_step);
      if (kind == kHeavy) value = __fmul_rn(value, __uint_as_float((unsigned)(127 + exponent) << 23));
      else value = __fadd_rn(value, float_centre);
      store_float(tensor, dtype, i, value);
    }
  }
}

extern "C" __global__ void specgen_poison(void* tensor, int dtype, Index elements, Word secret) {
  for (Index i = first_index(); i < elements; i += index_step()) {
    Word bits = poison_bits(dtype, secret, i);
    if (dtype == kF64 || dtype == kI64) ((Word*)tensor)[i] = bits;
    else if (dtype == kF32 || dtype == kI32) ((unsigned*)tensor)[i] = (unsigned)bits;
    else if (dtype == kU8) ((unsigned char*)tensor)[i] = (unsigned char)bits;
    else ((unsigned short*)tensor)[i] = (unsigned short)bits;
  }
}

struct Report {  // OutputReport
  long long elements, unwritten, nonfinite, beyond, worst_at;
  double worst_ratio, worst_expected, worst_got, worst_relative, error_squares, value_squares;
};

struct Bounds {
  double scale_factor, value_factor, floor, overflow;
};

__device__ double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
__device__ bool is_finite(double value) { return fabs(value) < infinity(); }

__device__ void name_worst(Report& report, Index index, double got, double value) {
  report.worst_at = index;
  report.worst_expected = value;
  report.worst_got = got;
}

__device__ bool is_worse(const Report& report, double ratio, Index index) {
  return report.worst_at < 0 || ratio > report.worst_ratio ||
         (ratio == report.worst_ratio && index < report.worst_at);
}

__device__ void add_plain(Report& report, Index index, double got, double value, double scale,
                          double error, double bound) {
  report.error_squares += error * error;
  report.value_squares += value * value;
  double ratio = error > 0 ? error / bound : 0;
  if (!(error <= bound)) {
    ++report.beyond;
    report.worst_relative = fmax(report.worst_relative, scale > 0 ? error / scale : infinity());
  }
  if (report.unwritten == 0 && report.nonfinite == 0 && is_worse(report, ratio, index)) {
    name_worst(report, index, got, value);
  }
  report.worst_ratio = fmax(report.worst_ratio, ratio);
}

__device__ void add_element(Report& report, Index index, double got, bool is_poison, double value,
                            double scale, const Bounds& bounds) {
  ++report.elements;
  bool same = got == value || (got != got && value != value);
  bool take_over = false;
  if (is_poison && (got != got || !same)) {
    take_over = report.unwritten == 0 || index < report.worst_at;
    ++report.unwritten;
  } else if (same) {
    if (is_finite(value)) add_plain(report, index, got, value, scale, 0, 1);
  } else if (!is_finite(value)) {
    ++report.beyond;
    report.worst_relative = infinity();
    take_over = report.unwritten == 0 && report.nonfinite == 0 && is_worse(report, infinity(), index);
    report.worst_ratio = infinity();
  } else {
    scale = is_finite(scale) ? fabs(scale) : fabs(value);
    double bound = __dadd_rn(__dadd_rn(__dmul_rn(bounds.scale_factor, scale),
                                       __dmul_rn(bounds.value_factor, fabs(value))), bounds.floor);
    if (is_finite(got)) {
      add_plain(report, index, got, value, scale, fabs(got - value), bound);
    } else {
      bool may_overflow = got == got && (got > 0) == (value > 0) &&
                          fabs(value) + bound >= bounds.overflow;
      if (may_overflow) {
        report.value_squares += value * value;
      } else {
        take_over = report.unwritten == 0 && (report.nonfinite == 0 || index < report.worst_at);
        ++report.nonfinite;
      }
    }
  }
  if (take_over) name_worst(report, index, got, value);
}

__device__ bool earlier(long long ours, long long theirs, Index our_place, Index their_place) {
  if (ours == 0 || theirs == 0) return theirs > 0;
  return their_place < our_place;
}

__device__ void merge(Report& into, const Report& more) {
  bool take;
  if (more.worst_at < 0 || into.worst_at < 0) {
    take = into.worst_at < 0;
  } else if (into.unwritten + more.unwritten > 0) {
    take = earlier(into.unwritten, more.unwritten, into.worst_at, more.worst_at);
  } else if (into.nonfinite + more.nonfinite > 0) {
    take = earlier(into.nonfinite, more.nonfinite, into.worst_at, more.worst_at);
  } else {
    take = more.worst_ratio > into.worst_ratio ||
           (more.worst_ratio == into.worst_ratio && more.worst_at < into.worst_at);
  }
  if (take) name_worst(into, more.worst_at, more.worst_got, more.worst_expected);
  into.elements += more.elements;
  into.unwritten += more.unwritten;
  into.nonfinite += more.nonfinite;
  into.beyond += more.beyond;
  into.worst_ratio = fmax(into.worst_ratio, more.worst_ratio);
  into.worst_relative = fmax(into.worst_relative, more.worst_relative);
  into.error_squares += more.error_squares;
  into.value_squares += more.value_squares;
}

__device__ Report empty_report() {
  Report report = {0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0};
  return report;
}

// Always in the same order, so that sums are the same each time.
__device__ void write_block(const Report& mine, Report* blocks) {
  __shared__ Report shared[256];
  shared[threadIdx.x] = mine;
  for (unsigned width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width && threadIdx.x + width < blockDim.x) {
      merge(shared[threadIdx.x], shared[threadIdx.x + width]);
    }
  }
  if (threadIdx.x == 0) blocks[blockIdx.x] = shared[0];
}

extern "C" __global__ void specgen_compare(const void* got, int dtype, const long long* at,
                                           Index first, Index count, const double* value,
                                           const double* scale, double scale_factor,
                                           double value_factor, double floor, double overflow,
                                           Word secret, Report* blocks) {
  Bounds bounds = {scale_factor, value_factor, floor, overflow};
  Report report = empty_report();
  for (Index j = first_index(); j < count; j += index_step()) {
    Index i = at ? at[j] : first + j;
    bool poison = load_bits(got, dtype, i) == poison_bits(dtype, secret, i);
    add_element(report, i, load_value(got, dtype, i), poison, value[j], scale[j], bounds);
  }
  write_block(report, blocks);
}

extern "C" __global__ void specgen_compare_baseline(const void* got, const void* baseline,
                                                    int dtype, Index first, Index count,
                                                    double scale, double scale_factor,
                                                    double value_factor, double floor,
                                                    double overflow, Word secret, Report* blocks) {
  Bounds bounds = {scale_factor, value_factor, floor, overflow};
  Report report = empty_report();
  for (Index j = first_index(); j < count; j += index_step()) {
    Index i = first + j;
    bool poison = load_bits(got, dtype, i) == poison_bits(dtype, secret, i);
    add_element(report, i, load_value(got, dtype, i), poison, load_value(baseline, dtype, i), scale,
                bounds);
  }
  write_block(report, blocks);
}
)cuda";

}  // namespace specgen
