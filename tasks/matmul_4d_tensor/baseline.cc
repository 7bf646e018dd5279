#include <cstdint>

using T = SPECGEN_DTYPE;

// Rows are dense, so the first three axes are one.
extern "C" void matmul_4d_tensor(const T* a, const T* b, T* __restrict c, int64_t batch,
                                 int64_t rows, int64_t cols, int64_t inner, int64_t outer,
                                 void* /*scratch*/, int tid, int nthreads) {
  const int64_t count = batch * rows * cols;
  for (int64_t i = count * tid / nthreads; i < count * (tid + 1) / nthreads; ++i) {
    T* sums = c + i * outer;
    for (int64_t j = 0; j < outer; ++j) sums[j] = 0;
    for (int64_t l = 0; l < inner; ++l) {
      const float left = a[i * inner + l];
      for (int64_t j = 0; j < outer; ++j) sums[j] += left * b[l * outer + j];
    }
  }
}
