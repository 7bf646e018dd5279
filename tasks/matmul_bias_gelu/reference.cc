#include <cmath>
#include <cstdint>

// Rounding errors of the sum z pass through the slope of gelu, at most Phi(z) + |z| phi(z); gelu
// itself adds those of its terms, z/2 and z/2 * erf.
extern "C" void reference(const double* x, const double* w, const double* bias, double* y,
                          double* y_scale, int64_t /*rows*/, int64_t inner, int64_t cols,
                          int64_t first, int64_t last) {
  const double inverse_root_of_2 = std::sqrt(0.5);
  const double inverse_root_of_2_pi = 0.3989422804014327;
  for (int64_t at = first; at < last; ++at) {
    const double* row = x + at / cols * inner;
    const double* column = w + at % cols;
    double z = bias[at % cols];
    double absolute = std::abs(z);
    for (int64_t l = 0; l < inner; ++l) {
      const double term = row[l] * column[l * cols];
      z += term;
      absolute += std::abs(term);
    }
    const double below = 0.5 * std::erfc(-z * inverse_root_of_2);  // Phi(z)
    const double slope = below + std::abs(z) * inverse_root_of_2_pi * std::exp(-0.5 * z * z);
    y[at] = z * below;
    y_scale[at] = absolute * slope + 0.5 * std::abs(z) * (1 + std::abs(2 * below - 1));
  }
}
