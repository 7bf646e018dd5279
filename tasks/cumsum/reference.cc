#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void reference(const double* x, double* y, double* y_scale, int64_t /*rows*/,
                          int64_t cols, int64_t first, int64_t last) {
  for (int64_t begin = first; begin < last;) {
    const int64_t start = begin / cols * cols;  // of the row
    const int64_t end = std::min(last, start + cols);
    double sum = 0;
    double absolute = 0;
    for (int64_t i = start; i < end; ++i) {
      sum += x[i];
      absolute += std::abs(x[i]);
      if (i < begin) continue;
      y[i] = sum;
      y_scale[i] = absolute;
    }
    begin = end;
  }
}
