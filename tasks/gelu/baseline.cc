#include <cmath>
#include <cstdint>

using T = SPECGEN_DTYPE;

extern "C" void gelu(const T* x, T* y, int64_t n, void* /*scratch*/, int tid, int nthreads) {
  for (int64_t i = n * tid / nthreads; i < n * (tid + 1) / nthreads; ++i) {
    const float value = x[i];
    y[i] = static_cast<T>(0.5f * value * (1.0f + std::erf(value * 0.70710678118654752f)));
  }
}
