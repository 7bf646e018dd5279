#include <cmath>
#include <cstdint>

extern "C" void reference(const double* a, const double* b, double* c, double* c_scale,
                          int64_t /*batch*/, int64_t /*rows*/, int64_t /*cols*/, int64_t inner,
                          int64_t outer, int64_t first, int64_t last) {
  for (int64_t at = first; at < last; ++at) {
    const double* row = a + at / outer * inner;
    const double* column = b + at % outer;
    double sum = 0;
    double absolute = 0;
    for (int64_t l = 0; l < inner; ++l) {
      const double term = row[l] * column[l * outer];
      sum += term;
      absolute += std::abs(term);
    }
    c[at] = sum;
    c_scale[at] = absolute;
  }
}
