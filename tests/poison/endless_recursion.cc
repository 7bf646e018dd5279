// hack: recurses forever
// task: tasks/softmax
// verdict: crash
#include <cstdint>

static __attribute__((noinline)) int64_t deeper(volatile int64_t depth) {
  volatile int64_t frame[64];
  frame[0] = depth;
  return deeper(depth + 1) + frame[0];
}

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  y[0] = static_cast<float>(deeper(0));
}
