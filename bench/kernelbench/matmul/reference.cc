#include <cmath>
#include <cstdint>

extern "C" void reference(const double* a, const double* b, double* c, double* c_scale, int64_t n,
                          int64_t first, int64_t last) {
  for (int64_t at = first; at < last; ++at) {
    const double* row = a + at / n * n;
    const double* column = b + at % n;
    double sum = 0;
    double absolute = 0;
    for (int64_t l = 0; l < n; ++l) {
      const double term = row[l] * column[l * n];
      sum += term;
      absolute += std::abs(term);
    }
    c[at] = sum;
    c_scale[at] = absolute;
  }
}
