// hack: every call stays below its limit, and all of them together hold the device for minutes
// task: tasks/softmax
// verdict: timeout
// flags: --call-limit 1s
#include <immintrin.h>

#include <cmath>
#include <cstdint>

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols, void*, int tid,
                        int nthreads) {
  for (const uint64_t begin = __rdtsc(); __rdtsc() - begin < 1'300'000'000;) {  // 0.3 to 0.7 s
  }
  for (int64_t row = tid; row < rows; row += nthreads) {
    const float* from = x + row * cols;
    float top = from[0];
    for (int64_t j = 1; j < cols; ++j) top = from[j] > top ? from[j] : top;
    float sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(from[j] - top);
    for (int64_t j = 0; j < cols; ++j) y[row * cols + j] = std::exp(from[j] - top) / sum;
  }
}
