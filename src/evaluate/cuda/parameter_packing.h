#pragma once
// A kernel's parameters as bytes, each with the width that the kernel declares. The values come
// from the launch line; a wrong count or a value that does not fit is a reason to reject it, worded
// for its author.

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace specgen {

struct KernelParameter {
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

struct AddressValue {
  std::uint64_t address = 0;
};
struct TensormapValue {
  std::array<std::uint64_t, 16> words{};
};
using ParameterValue = std::variant<AddressValue, std::int64_t, double, TensormapValue>;

// The bytes of all parameters; parameter i is at its offset.
std::expected<std::vector<std::byte>, std::string> pack_parameters(
    std::string_view kernel, std::span<const KernelParameter> parameters,
    std::span<const ParameterValue> values);

}  // namespace specgen
