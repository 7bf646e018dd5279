#include <algorithm>
#include <cmath>
#include <cstdint>

// Squares do not cancel, so every step is off relative to its own result, and so is y.
extern "C" void reference(const double* x, const double* weight, double* y, double* y_scale,
                          int64_t /*rows*/, int64_t cols, double eps, int64_t first, int64_t last) {
  for (int64_t begin = first; begin < last;) {
    const int64_t row = begin / cols;
    const int64_t end = std::min(last, (row + 1) * cols);
    double squares = 0;
    for (int64_t j = 0; j < cols; ++j) squares += x[row * cols + j] * x[row * cols + j];
    const double root = std::sqrt(squares / static_cast<double>(cols) + eps);
    for (int64_t i = begin; i < end; ++i) {
      y[i] = x[i] / root * weight[i - row * cols];
      y_scale[i] = std::abs(y[i]);
    }
    begin = end;
  }
}
