#include <algorithm>
#include <cmath>
#include <cstdint>

// What rounding does to y: exp(d) of a d = x - max that is off by |d| * u is off by that factor, in
// the numerator and, weighted by the probabilities, in the sum below it; exp and division add one
// rounding each. All terms of the sum are positive.
extern "C" void reference(const double* x, double* y, double* y_scale, int64_t /*rows*/,
                          int64_t cols, int64_t first, int64_t last) {
  for (int64_t begin = first; begin < last;) {
    const int64_t row = begin / cols;
    const int64_t end = std::min(last, (row + 1) * cols);
    const double* values = x + row * cols;
    const double top = *std::max_element(values, values + cols);
    double sum = 0;
    double moment = 0;
    for (int64_t j = 0; j < cols; ++j) {
      const double weight = std::exp(values[j] - top);
      sum += weight;
      moment += weight * (top - values[j]);
    }
    for (int64_t i = begin; i < end; ++i) {
      y[i] = std::exp(x[i] - top) / sum;
      y_scale[i] = y[i] * (2 + (top - x[i]) + moment / sum);
    }
    begin = end;
  }
}
