#include <algorithm>
#include <cstdint>

using T = SPECGEN_DTYPE;

// Row by row, along the rows of b. The sums of a strip are floats, whatever T is.
extern "C" void matmul_square(const T* a, const T* b, T* c, int64_t n, void* /*scratch*/, int tid,
                              int nthreads) {
  constexpr int64_t kStrip = 512;
  float sums[kStrip];
  for (int64_t i = n * tid / nthreads; i < n * (tid + 1) / nthreads; ++i) {
    for (int64_t start = 0; start < n; start += kStrip) {
      const int64_t length = std::min(kStrip, n - start);
      for (int64_t j = 0; j < length; ++j) sums[j] = 0;
      for (int64_t l = 0; l < n; ++l) {
        const float left = a[i * n + l];
        const T* row = b + l * n + start;
        for (int64_t j = 0; j < length; ++j) sums[j] += left * static_cast<float>(row[j]);
      }
      for (int64_t j = 0; j < length; ++j) c[i * n + start + j] = static_cast<T>(sums[j]);
    }
  }
}
