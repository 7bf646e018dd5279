// hack: jumps to address 0
// task: tasks/softmax
// verdict: crash
#include <cstdint>

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  void (*volatile nowhere)() = nullptr;
  nowhere();
  y[0] = 0;
}
