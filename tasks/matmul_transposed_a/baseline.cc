#include <cstdint>

using T = SPECGEN_DTYPE;

// Row by row of c, along the rows of b; only a is read across its rows.
extern "C" void matmul_transposed_a(const T* a, const T* b, T* __restrict c, int64_t m, int64_t n,
                                    int64_t k, void* /*scratch*/, int tid, int nthreads) {
  for (int64_t i = m * tid / nthreads; i < m * (tid + 1) / nthreads; ++i) {
    T* sums = c + i * n;
    for (int64_t j = 0; j < n; ++j) sums[j] = 0;
    for (int64_t l = 0; l < k; ++l) {
      const float left = a[l * m + i];
      for (int64_t j = 0; j < n; ++j) sums[j] += left * b[l * n + j];
    }
  }
}
