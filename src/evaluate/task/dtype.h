#pragma once
// The element types of tensors: sizes, names in C++ and CUDA, rounding, and conversion from and to double.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

enum class Dtype : std::uint8_t { f64, f32, f16, bf16, i64, i32, u8 };

std::string_view to_string(Dtype dtype);  // "f32"
Result<Dtype> parse_dtype(std::string_view name);
std::size_t size_of(Dtype dtype);
bool is_float(Dtype dtype);
double unit_roundoff(Dtype dtype);        // 2^-24 for f32; 0 for integers
std::string_view cpu_type(Dtype dtype);   // "float", "_Float16", "specgen_bf16", "int64_t"
std::string_view cuda_type(Dtype dtype);  // "float", "__half", "__nv_bfloat16", "long long"

// Element by element, rounded to nearest even. Sizes must agree.
void to_doubles(Dtype dtype, std::span<const std::byte> from, std::span<double> into);
void from_doubles(Dtype dtype, std::span<const double> from, std::span<std::byte> into);
double load(Dtype dtype, std::span<const std::byte> tensor, std::size_t index);

// The contents of an output before a call: for floats a quiet NaN whose payload comes from `secret`, for
// integers random words. An element that still holds it was not written.
struct Poison {
  std::uint64_t secret = 0;
};
void poison(Dtype dtype, std::span<std::byte> tensor, Poison with);
bool is_poison(Dtype dtype, std::span<const std::byte> tensor, std::size_t index, Poison with);

}  // namespace specgen
