#include "evaluate/cpu/ceiling_loops.h"

namespace specgen {
namespace {

// A memory loop moves along all its streams with one index, `turns` times from the start. What it
// writes begins as zeros: subnormal numbers would slow down later additions. `clean` also ends the
// state in which legacy SSE and AVX instructions wait for each other.
#define SG_REPEAT8(line)                                                              \
  line("0x000") line("0x040") line("0x080") line("0x0c0") line("0x100") line("0x140") \
      line("0x180") line("0x1c0")

#if defined(__x86_64__)

#define SG_MEMORY_LOOP(name, clean, body, finish)                                            \
  void name(const Streams& streams, size_t turns) {                                          \
    size_t i = 0;                                                                            \
    asm volatile(clean                                                                       \
                 "xorps %%xmm0, %%xmm0\n xorps %%xmm1, %%xmm1\n"                             \
                 "xorps %%xmm2, %%xmm2\n xorps %%xmm3, %%xmm3\n"                             \
                 "1: xor %[i], %[i]\n"                                                       \
                 ".p2align 5\n"                                                              \
                 "2:\n" body                                                                 \
                 "add $512, %[i]\n"                                                          \
                 "cmp %[bytes], %[i]\n"                                                      \
                 "jb 2b\n"                                                                   \
                 "dec %[turns]\n"                                                            \
                 "jnz 1b\n" finish                                                           \
                 : [i] "+&r"(i), [turns] "+&r"(turns)                                        \
                 : [to] "r"(streams.to), [from] "r"(streams.from), [more] "r"(streams.more), \
                   [bytes] "r"(streams.bytes)                                                \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "memory", "cc");                          \
  }

#define SG_READ512(at) "vmovups " at "(%[from],%[i]), %%zmm0\n"
#define SG_WRITE512(at) "vmovups %%zmm0, " at "(%[to],%[i])\n"
#define SG_STREAM512(at) "vmovntps %%zmm0, " at "(%[to],%[i])\n"
#define SG_COPY512(at) SG_READ512(at) SG_WRITE512(at)
#define SG_COPY_OUT512(at) SG_READ512(at) SG_STREAM512(at)
#define SG_ADD512(at) SG_READ512(at) "vaddps " at "(%[more],%[i]), %%zmm0, %%zmm0\n" SG_WRITE512(at)

#define SG_READ256(at)       \
  "vmovups " at              \
  "(%[from],%[i]), %%ymm0\n" \
  "vmovups 32+" at "(%[from],%[i]), %%ymm1\n"
#define SG_WRITE256(at) \
  "vmovups %%ymm0, " at \
  "(%[to],%[i])\n"      \
  "vmovups %%ymm1, 32+" at "(%[to],%[i])\n"
#define SG_STREAM256(at) \
  "vmovntps %%ymm0, " at \
  "(%[to],%[i])\n"       \
  "vmovntps %%ymm1, 32+" at "(%[to],%[i])\n"
#define SG_COPY256(at) SG_READ256(at) SG_WRITE256(at)
#define SG_COPY_OUT256(at) SG_READ256(at) SG_STREAM256(at)
#define SG_ADD256(at)                \
  SG_READ256(at)                     \
  "vaddps " at                       \
  "(%[more],%[i]), %%ymm0, %%ymm0\n" \
  "vaddps 32+" at "(%[more],%[i]), %%ymm1, %%ymm1\n" SG_WRITE256(at)

#define SG_FOUR128(move, at) \
  move(at, "xmm0") move("16+" at, "xmm1") move("32+" at, "xmm2") move("48+" at, "xmm3")
#define SG_LOAD128(at, register) "movups " at "(%[from],%[i]), %%" register "\n"
#define SG_MORE128(at, register) "addps " at "(%[more],%[i]), %%" register "\n"
#define SG_STORE128(at, register) "movups %%" register ", " at "(%[to],%[i])\n"
#define SG_PAST128(at, register) "movntps %%" register ", " at "(%[to],%[i])\n"
#define SG_READ128(at) SG_FOUR128(SG_LOAD128, at)
#define SG_WRITE128(at) SG_FOUR128(SG_STORE128, at)
#define SG_STREAM128(at) SG_FOUR128(SG_PAST128, at)
#define SG_COPY128(at) SG_READ128(at) SG_WRITE128(at)
#define SG_COPY_OUT128(at) SG_READ128(at) SG_STREAM128(at)
#define SG_ADD128(at) SG_READ128(at) SG_FOUR128(SG_MORE128, at) SG_WRITE128(at)

#define SG_MEMORY_LOOPS(bits, end)                                                    \
  SG_MEMORY_LOOP(read_##bits, end, SG_REPEAT8(SG_READ##bits), end)                    \
  SG_MEMORY_LOOP(write_##bits, end, SG_REPEAT8(SG_WRITE##bits), end)                  \
  SG_MEMORY_LOOP(stream_##bits, end, SG_REPEAT8(SG_STREAM##bits), "sfence\n" end)     \
  SG_MEMORY_LOOP(copy_##bits, end, SG_REPEAT8(SG_COPY##bits), end)                    \
  SG_MEMORY_LOOP(copy_out_##bits, end, SG_REPEAT8(SG_COPY_OUT##bits), "sfence\n" end) \
  SG_MEMORY_LOOP(add_##bits, end, SG_REPEAT8(SG_ADD##bits), end)                      \
  constexpr MemoryLoopKind kMemory##bits[] = {                                        \
      {read_##bits, 1, false}, {write_##bits, 1, false},   {stream_##bits, 1, true},  \
      {copy_##bits, 2, false}, {copy_out_##bits, 2, true}, {add_##bits, 3, false},    \
      {nullptr, 0, false}};
SG_MEMORY_LOOPS(512, "vzeroupper\n")
SG_MEMORY_LOOPS(256, "vzeroupper\n")
SG_MEMORY_LOOPS(128, "")

// Zeros are as fast as other numbers and never become subnormal.
#define SG_FLOP_LOOP(name, clean, body)                                                            \
  void name(size_t turns) {                                                                        \
    asm volatile(clean                                                                             \
                 "xorps %%xmm0, %%xmm0\n xorps %%xmm1, %%xmm1\n xorps %%xmm2, %%xmm2\n"            \
                 "xorps %%xmm3, %%xmm3\n xorps %%xmm4, %%xmm4\n xorps %%xmm5, %%xmm5\n"            \
                 "xorps %%xmm6, %%xmm6\n xorps %%xmm7, %%xmm7\n xorps %%xmm8, %%xmm8\n"            \
                 "xorps %%xmm9, %%xmm9\n xorps %%xmm10, %%xmm10\n xorps %%xmm11, %%xmm11\n"        \
                 "xorps %%xmm12, %%xmm12\n xorps %%xmm13, %%xmm13\n"                               \
                 ".p2align 5\n"                                                                    \
                 "1:\n" body                                                                       \
                 "dec %[turns]\n"                                                                  \
                 "jnz 1b\n" clean                                                                  \
                 : [turns] "+&r"(turns)                                                            \
                 :                                                                                 \
                 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                   "xmm10", "xmm11", "xmm12", "xmm13", "cc");                                      \
  }

#define SG_FUSED(op, size, n) op " %%" size "12, %%" size "13, %%" size #n "\n"
#define SG_TWELVE_FUSED(op, size) \
  SG_FUSED(op, size, 0)           \
  SG_FUSED(op, size, 1)           \
  SG_FUSED(op, size, 2)           \
  SG_FUSED(op, size, 3)           \
  SG_FUSED(op, size, 4)           \
  SG_FUSED(op, size, 5)           \
  SG_FUSED(op, size, 6)           \
  SG_FUSED(op, size, 7)           \
  SG_FUSED(op, size, 8) SG_FUSED(op, size, 9) SG_FUSED(op, size, 10) SG_FUSED(op, size, 11)
#define SG_PAIR(kind, n, m) "mul" kind " %%xmm12, %%xmm" #n "\n add" kind " %%xmm13, %%xmm" #m "\n"
#define SG_TWELVE_PLAIN(kind) \
  SG_PAIR(kind, 0, 1)         \
  SG_PAIR(kind, 2, 3)         \
  SG_PAIR(kind, 4, 5) SG_PAIR(kind, 6, 7) SG_PAIR(kind, 8, 9) SG_PAIR(kind, 10, 11)

SG_FLOP_LOOP(fused_f32_512, "vzeroupper\n", SG_TWELVE_FUSED("vfmadd231ps", "zmm"))
SG_FLOP_LOOP(fused_f64_512, "vzeroupper\n", SG_TWELVE_FUSED("vfmadd231pd", "zmm"))
SG_FLOP_LOOP(fused_f32_256, "vzeroupper\n", SG_TWELVE_FUSED("vfmadd231ps", "ymm"))
SG_FLOP_LOOP(fused_f64_256, "vzeroupper\n", SG_TWELVE_FUSED("vfmadd231pd", "ymm"))
SG_FLOP_LOOP(plain_f32_128, "", SG_TWELVE_PLAIN("ps"))
SG_FLOP_LOOP(plain_f64_128, "", SG_TWELVE_PLAIN("pd"))

constexpr FlopLoopKind kFlops[] = {
    // Both widths: with one 512-bit unit or a lower clock, half as wide is as fast or faster.
    {fused_f32_512, false, 12 * 16 * 2},
    {fused_f64_512, true, 12 * 8 * 2},
    {fused_f32_256, false, 12 * 8 * 2},
    {fused_f64_256, true, 12 * 4 * 2},
    {plain_f32_128, false, 12 * 4},
    {plain_f64_128, true, 12 * 2},
    {nullptr, false, 0}};

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0;
}
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}

#elif defined(__aarch64__)

// `ldp` and `stp` reach 1008 bytes from their base: 64 bytes per pair of lines.
#define SG_MEMORY_LOOP(name, body)                                                             \
  void name(const Streams& streams, size_t turns) {                                            \
    asm volatile(                                                                              \
        "movi v0.2d, #0\n movi v1.2d, #0\n movi v2.2d, #0\n movi v3.2d, #0\n"                  \
        "1: mov x9, %[to]\n mov x10, %[from]\n mov x11, %[more]\n mov x12, %[bytes]\n"         \
        "2:\n" body                                                                            \
        "add x9, x9, #512\n add x10, x10, #512\n add x11, x11, #512\n"                         \
        "subs x12, x12, #512\n"                                                                \
        "b.hi 2b\n"                                                                            \
        "subs %[turns], %[turns], #1\n"                                                        \
        "b.ne 1b\n"                                                                            \
        : [turns] "+&r"(turns)                                                                 \
        : [to] "r"(streams.to), [from] "r"(streams.from), [more] "r"(streams.more),            \
          [bytes] "r"(streams.bytes)                                                           \
        : "x9", "x10", "x11", "x12", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "memory", \
          "cc");                                                                               \
  }
#define SG_READ(at) "ldp q0, q1, [x10, #" at "]\n ldp q2, q3, [x10, #" at "+32]\n"
#define SG_WRITE(at) "stp q0, q1, [x9, #" at "]\n stp q2, q3, [x9, #" at "+32]\n"
#define SG_STREAM(at) "stnp q0, q1, [x9, #" at "]\n stnp q2, q3, [x9, #" at "+32]\n"
#define SG_COPY(at) SG_READ(at) SG_WRITE(at)
#define SG_COPY_OUT(at) SG_READ(at) SG_STREAM(at)
#define SG_ADD(at)                                                                   \
  SG_READ(at)                                                                        \
  "ldp q4, q5, [x11, #" at "]\n ldp q6, q7, [x11, #" at                              \
  "+32]\n"                                                                           \
  "fadd v0.4s, v0.4s, v4.4s\n fadd v1.4s, v1.4s, v5.4s\n fadd v2.4s, v2.4s, v6.4s\n" \
  "fadd v3.4s, v3.4s, v7.4s\n" SG_WRITE(at)
SG_MEMORY_LOOP(read_all, SG_REPEAT8(SG_READ))
SG_MEMORY_LOOP(write_all_of_it, SG_REPEAT8(SG_WRITE))
SG_MEMORY_LOOP(stream_all, SG_REPEAT8(SG_STREAM))
SG_MEMORY_LOOP(copy_all, SG_REPEAT8(SG_COPY))
SG_MEMORY_LOOP(copy_out_all, SG_REPEAT8(SG_COPY_OUT))
SG_MEMORY_LOOP(add_all, SG_REPEAT8(SG_ADD))
constexpr MemoryLoopKind kMemory[] = {{read_all, 1, false},    {write_all_of_it, 1, false},
                                      {stream_all, 1, true},   {copy_all, 2, false},
                                      {copy_out_all, 2, true}, {add_all, 3, false},
                                      {nullptr, 0, false}};

#define SG_FUSED(kind, n) "fmla v" #n kind ", v12" kind ", v13" kind "\n"
#define SG_FLOP_LOOP(name, kind)                                                                 \
  void name(size_t turns) {                                                                      \
    asm volatile(                                                                              \
        "movi v0.2d, #0\n movi v1.2d, #0\n movi v2.2d, #0\n movi v3.2d, #0\n"                  \
        "movi v4.2d, #0\n movi v5.2d, #0\n movi v6.2d, #0\n movi v7.2d, #0\n"                  \
        "movi v12.2d, #0\n movi v13.2d, #0\n movi v14.2d, #0\n movi v15.2d, #0\n"              \
        "movi v16.2d, #0\n movi v17.2d, #0\n"                                                  \
        "1:\n" SG_FUSED(kind, 0) SG_FUSED(kind, 1) SG_FUSED(kind, 2) SG_FUSED(kind, 3)         \
            SG_FUSED(kind, 4) SG_FUSED(kind, 5) SG_FUSED(kind, 6) SG_FUSED(kind, 7)            \
                SG_FUSED(kind, 14) SG_FUSED(kind, 15) SG_FUSED(kind, 16) SG_FUSED(kind, 17)    \
        "subs %[turns], %[turns], #1\n"                                                        \
        "b.ne 1b\n"                                                                            \
        : [turns] "+&r"(turns)                                                                 \
        :                                                                                      \
        : "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v12", "v13", "v14", "v15", "v16",   \
          "v17", "cc"); \
  }
SG_FLOP_LOOP(fused_f32, ".4s")
SG_FLOP_LOOP(fused_f64, ".2d")
constexpr FlopLoopKind kFlops[] = {
    {fused_f32, false, 12 * 4 * 2}, {fused_f64, true, 12 * 2 * 2}, {nullptr, false, 0}};

#else
#error "ceilings are measured in the assembly of the processor: x86-64 and AArch64 so far"
#endif

}  // namespace

const MemoryLoopKind* memory_loops() {
#if defined(__x86_64__)
  if (has_avx512()) return kMemory512;
  if (has_avx2()) return kMemory256;
  return kMemory128;
#else
  return kMemory;
#endif
}

const FlopLoopKind* flop_loops() {
#if defined(__x86_64__)
  if (has_avx512()) return kFlops;
  if (has_avx2()) return kFlops + 2;
  return kFlops + 4;
#else
  return kFlops;
#endif
}

}  // namespace specgen
