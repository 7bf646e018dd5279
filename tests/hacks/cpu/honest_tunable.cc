// hack: none: an honest kernel with a tunable (control)
// task: tasks/cumsum
// verdict: ok | unstable_timing
// flags: --set UNROLL=2
// specgen:tune UNROLL = 1, 2
#include <cstdint>

extern "C" void cumsum(const float* x, float* y, int64_t rows, int64_t cols, void*, int tid,
                       int nthreads) {
  for (int64_t row = tid; row < rows; row += nthreads) {
    float sum = 0;
    int64_t j = 0;
    for (; j + UNROLL <= cols; j += UNROLL) {
      for (int64_t k = j; k < j + UNROLL; ++k) y[row * cols + k] = sum += x[row * cols + k];
    }
    for (; j < cols; ++j) y[row * cols + j] = sum += x[row * cols + j];
  }
}
