#pragma once
// Filters on system calls, as the kernel's little programs. A table of refusals becomes one
// program: whatever is not in the table is allowed. A process of another architecture (32-bit code
// on x86-64), whose calls have other numbers, is killed.
//
// A list of what is refused and not of what is allowed, because CUDA's driver needs calls that
// change with its version (memfd_create, ioctl, huge reservations).

#include <linux/filter.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

// A call, and when it is refused; only the lower half of an argument is looked at, which is all
// that the kernel takes of those that are.
struct Refusal {
  enum class When { always, has_bits, equals, differs };
  long call;
  int answer;  // errno
  When when = When::always;
  int argument = 0;
  std::uint32_t value = 0;
};

struct FilterOptions {
  bool sockets_within_host = true;  // AF_UNIX; where there is no namespace it reaches the host's
  bool system_v_ipc = true;         // outlives its maker where there is no namespace for it
};
std::vector<Refusal> refusals(FilterOptions wish);

std::vector<sock_filter> filter_program(std::span<const Refusal> refused);

// Allows only these calls; any other kills the process.
std::vector<sock_filter> allow_list_program(std::span<const long> allowed);

// For this process and all that it starts; there is no way back.
Result<void> apply_filter(std::span<const sock_filter> program, bool all_threads);

}  // namespace specgen
