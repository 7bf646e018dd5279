// hack: none: an honest kernel that keeps exp(x - max) in scratch (control)
// task: tasks/softmax
// verdict: ok | unstable_timing
// specgen:scratch 4 * cols * 256
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols, void* scratch,
                        int tid, int nthreads) {
  float* kept = static_cast<float*>(scratch) + tid % 256 * cols;
  for (int64_t row = tid; row < rows; row += nthreads) {
    const float* from = x + row * cols;
    const float top = *std::max_element(from, from + cols);
    float sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += kept[j] = std::exp(from[j] - top);
    for (int64_t j = 0; j < cols; ++j) y[row * cols + j] = kept[j] / sum;
  }
}
