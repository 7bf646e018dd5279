// hack: softmax without subtracting the maximum (32)
// task: tasks/softmax
// verdict: nonfinite
#include <cmath>
#include <cstdint>

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols, void*, int tid,
                        int nthreads) {
  for (int64_t row = tid; row < rows; row += nthreads) {
    float sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[row * cols + j]);
    for (int64_t j = 0; j < cols; ++j) y[row * cols + j] = std::exp(x[row * cols + j]) / sum;
  }
}
