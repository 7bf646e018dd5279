#pragma once
// The loops behind cpu_ceilings.h: nothing but loads, stores or fused multiply-adds, written in
// assembly so that every build (-O0, sanitizers) measures the machine and not the compiler.

#include <stddef.h>
#include <stdint.h>

namespace specgen {

inline constexpr size_t kStepBytes = 512;  // moved by one turn of a memory loop, per stream

// Processed in full steps, `turns` times. Streams begin at multiples of 64 bytes.
struct Streams {
  char* to;          // written
  const char* from;  // read
  const char* more;  // also read, by the loop that reads two streams
  size_t bytes;      // of each stream
};
using MemoryLoop = void (*)(const Streams& streams, size_t turns);
struct MemoryLoopKind {
  MemoryLoop run;
  int streams;    // number of streams it touches
  bool uncached;  // non-temporal stores: pointless in a cache
};

// A turn is twelve independent chains, each of one vector instruction that counts two operations
// per element (or, without fused multiply-add, one).
using FlopLoop = void (*)(size_t turns);
struct FlopLoopKind {
  FlopLoop run;
  bool f64;
  double flops_per_turn;
};

// Those that this processor can run; the arrays end with an entry whose `run` is null.
const MemoryLoopKind* memory_loops();
const FlopLoopKind* flop_loops();

}  // namespace specgen
