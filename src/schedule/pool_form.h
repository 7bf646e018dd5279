#pragma once
// How a pool divides its devices, and the role that a device has in it.

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace specgen {

enum class PoolForm : std::uint8_t {
  per_task,  // each task has devices of its own, as in other systems
  split,     // a fixed share of the devices validates, the others profile
  elastic,   // roles follow the load; where switching costs nothing there are no roles
};
std::string_view to_string(PoolForm form);
Result<PoolForm> parse_pool_form(std::string_view name);

enum class Role : std::uint8_t { any, validating, profiling };
std::string_view to_string(Role role);

}  // namespace specgen
