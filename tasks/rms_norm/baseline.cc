#include <cmath>
#include <cstdint>

using T = SPECGEN_DTYPE;

extern "C" void rms_norm(const T* x, const T* weight, T* y, int64_t rows, int64_t cols, double eps,
                         void* /*scratch*/, int tid, int nthreads) {
  for (int64_t row = rows * tid / nthreads; row < rows * (tid + 1) / nthreads; ++row) {
    const T* from = x + row * cols;
    T* into = y + row * cols;
    float squares = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const float value = from[j];
      squares += value * value;
    }
    const float mean = squares / static_cast<float>(cols);
    const float factor = 1.0f / std::sqrt(mean + static_cast<float>(eps));
    for (int64_t j = 0; j < cols; ++j) {
      into[j] =
          static_cast<T>(static_cast<float>(from[j]) * factor * static_cast<float>(weight[j]));
    }
  }
}
