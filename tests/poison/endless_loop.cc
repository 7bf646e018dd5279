// hack: never returns
// task: tasks/softmax
// verdict: timeout
// flags: --call-limit 1s
#include <cstdint>

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  for (volatile float* at = y;;) at[0] = 0;
}
