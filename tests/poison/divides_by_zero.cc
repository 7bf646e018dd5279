// hack: divides by zero
// task: tasks/softmax
// verdict: crash
#include <cstdint>

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  volatile int64_t zero = 0;
  y[0] = static_cast<float>(100 / zero);
}
