#include <cstdint>

using T = SPECGEN_DTYPE;

extern "C" void cumsum(const T* x, T* y, int64_t rows, int64_t cols, void* /*scratch*/, int tid,
                       int nthreads) {
  for (int64_t row = rows * tid / nthreads; row < rows * (tid + 1) / nthreads; ++row) {
    float sum = 0;
    for (int64_t j = 0; j < cols; ++j) {
      sum += x[row * cols + j];
      y[row * cols + j] = sum;
    }
  }
}
