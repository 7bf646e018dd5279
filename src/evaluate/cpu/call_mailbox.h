#pragma once
// The shared page through which the judge and the process of a CPU candidate communicate: that
// process can make no system calls but futex and exit. One call:
//
//   judge: rung++ and a futex wake             →   executor wakes, ready = rung, spins
//   judge: set, reads the clock, go = rung     →   executor calls, done = rung, sleeps
//   judge: sees done, reads the clock
//
// Which set to use, and the withheld elements of its input, come with `go` and not with `rung`: a
// candidate that has taken over the executor must not be able to work before the clock runs. The
// candidate shares the executor's memory and could forge all of this. It cannot forge the judge's
// clock, the poison in its outputs, or the processor time that the kernel counts for it.

#include <atomic>
#include <cstdint>
#include <span>

namespace specgen {

struct alignas(64) CallMailbox {
  static constexpr std::uint32_t kEnd = 0xffffffff;  // value of `set`: end the process

  std::atomic<std::uint32_t> rung = 0;
  std::uint32_t set = 0;
  alignas(64) std::atomic<std::uint32_t> go = 0;
  alignas(64) std::atomic<std::uint32_t> ready = 0;
  std::atomic<std::uint32_t> done = 0;
  alignas(64) std::int32_t fault_signal = 0;  // set by the executor's signal handler
  std::uint64_t fault_address = 0;
};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected);
void futex_wake(std::atomic<std::uint32_t>& word);

// Calls a C function with pointers and integers as `words`, in this order, and doubles anywhere
// between them as `reals`: x86-64 and AArch64 pass the two kinds in different registers, and the
// callee reads no more than it declares.
inline constexpr std::size_t kMaxWords = 48;
inline constexpr std::size_t kMaxReals = 8;
void call_entry(void* entry, std::span<const std::uint64_t> words, std::span<const double> reals);

}  // namespace specgen
