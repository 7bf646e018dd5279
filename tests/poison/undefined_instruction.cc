// hack: executes an undefined instruction
// task: tasks/softmax
// verdict: crash
#include <cstdint>

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  asm volatile("ud2");
  y[0] = 0;
}
