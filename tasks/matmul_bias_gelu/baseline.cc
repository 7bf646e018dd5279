#include <cmath>
#include <cstdint>

using T = SPECGEN_DTYPE;

extern "C" void matmul_bias_gelu(const T* x, const T* w, const T* bias, T* __restrict y,
                                 int64_t rows, int64_t inner, int64_t cols, void* /*scratch*/,
                                 int tid, int nthreads) {
  for (int64_t i = rows * tid / nthreads; i < rows * (tid + 1) / nthreads; ++i) {
    T* sums = y + i * cols;
    for (int64_t j = 0; j < cols; ++j) sums[j] = bias[j];
    for (int64_t l = 0; l < inner; ++l) {
      const float left = x[i * inner + l];
      for (int64_t j = 0; j < cols; ++j) sums[j] += left * w[l * cols + j];
    }
    for (int64_t j = 0; j < cols; ++j) {
      sums[j] = 0.5f * sums[j] * (1.0f + std::erf(sums[j] * 0.70710678118654752f));
    }
  }
}
