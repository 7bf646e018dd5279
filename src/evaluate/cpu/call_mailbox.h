#pragma once
// The page through which the judge and the process that runs a CPU candidate talk while nothing
// else may: the candidate's process has given up all system calls but futex and exit. One call:
//
//   judge: rung++ and a futex wake             →   executor wakes, ready = rung, spins
//   judge: set, takes the time, go = rung      →   executor calls, done = rung, sleeps
//   judge: sees done, takes the time
//
// What is to be called (set), and with it the last missing pieces of the input, comes with go and
// not with the ring: who has taken the executor over must not be able to work before the time runs.
// The candidate shares the executor's memory and could forge all of this; what it cannot forge is
// the judge's clock, the poison in its outputs, and the processor time the kernel counts for it.

#include <atomic>
#include <cstdint>
#include <span>

namespace specgen {

struct alignas(64) CallMailbox {
  static constexpr std::uint32_t kEnd = 0xffffffff;  // as a set: end the process

  std::atomic<std::uint32_t> rung = 0;
  std::uint32_t set = 0;
  alignas(64) std::atomic<std::uint32_t> go = 0;
  alignas(64) std::atomic<std::uint32_t> ready = 0;
  std::atomic<std::uint32_t> done = 0;
  alignas(64) std::int32_t fault_signal = 0;  // told by the executor's signal handler
  std::uint64_t fault_address = 0;
};

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t while_it_is);
void futex_wake(std::atomic<std::uint32_t>& word);

// Calls a C function whose parameters are pointers and whole numbers in this order, with doubles
// anywhere between them: in the calling conventions of x86-64 and AArch64 the two kinds travel in
// registers of their own, and the callee takes no more than it declares.
inline constexpr std::size_t kMaxWords = 48;
inline constexpr std::size_t kMaxReals = 8;
void call_entry(void* entry, std::span<const std::uint64_t> words, std::span<const double> reals);

}  // namespace specgen
