// hack: every call stays below its limit, and all of them together hold the device for minutes
// task: tasks/softmax
// verdict: timeout
// flags: --call-limit 1s
#include <cmath>
#include <cstdint>

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols, void*, int tid,
                        int nthreads) {
  for (volatile int64_t turn = 0; turn < 1'000'000'000;) turn = turn + 1;
  for (int64_t row = tid; row < rows; row += nthreads) {
    const float* from = x + row * cols;
    float top = from[0];
    for (int64_t j = 1; j < cols; ++j) top = from[j] > top ? from[j] : top;
    float sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(from[j] - top);
    for (int64_t j = 0; j < cols; ++j) y[row * cols + j] = std::exp(from[j] - top) / sum;
  }
}
