// hack: has no function of the right name
// task: tasks/softmax
// verdict: rejected
#include <cstdint>

extern "C" void hardmax(float* y) {
  y[0] = 0;
}
