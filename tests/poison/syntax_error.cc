// hack: is not C++
// task: tasks/softmax
// verdict: compile_error
#include <cstdint>

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  this is no code
}
