#include <cmath>
#include <cstdint>

using T = SPECGEN_DTYPE;

extern "C" void softmax(const T* x, T* y, int64_t rows, int64_t cols, void* /*scratch*/, int tid,
                        int nthreads) {
  for (int64_t row = rows * tid / nthreads; row < rows * (tid + 1) / nthreads; ++row) {
    const T* from = x + row * cols;
    T* into = y + row * cols;
    float top = from[0];
    for (int64_t j = 1; j < cols; ++j) {
      const float value = from[j];
      top = value > top ? value : top;
    }
    float sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(static_cast<float>(from[j]) - top);
    const float factor = 1.0f / sum;
    // Computed again rather than kept in y, which may be too short a type for it.
    for (int64_t j = 0; j < cols; ++j) {
      into[j] = static_cast<T>(std::exp(static_cast<float>(from[j]) - top) * factor);
    }
  }
}
