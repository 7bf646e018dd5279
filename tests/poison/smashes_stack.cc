// hack: overwrites the frames of its callers
// task: tasks/softmax
// verdict: crash
#include <cstdint>

#include <cstring>

extern "C" void softmax(const float*, float* y, int64_t, int64_t, void*, int, int) {
  volatile char small[16];
  small[0] = 0;
  char* begin = const_cast<char*>(small);
  asm volatile("" : "+r"(begin));
  std::memset(begin, 0x41, 1024);
  y[0] = 0;
}
