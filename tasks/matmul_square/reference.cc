#include <algorithm>
#include <cmath>
#include <cstdint>

// Tiles of columns, so that a tile of b stays near while all rows go over it. Every sum runs from the first term to the
// last, however the elements are shared out.
extern "C" void reference(const double* a, const double* b, double* c, double* c_scale, int64_t n,
                          int64_t first, int64_t last) {
  constexpr int64_t kTile = 128;
  for (int64_t left = 0; left < n; left += kTile) {
    for (int64_t row = first / n; row * n < last; ++row) {
      const int64_t begin = std::max(first, row * n + left);
      const int64_t end = std::min({last, row * n + n, row * n + left + kTile});
      if (begin >= end) continue;
      const double* columns = b + begin - row * n;
      const int64_t count = end - begin;
      double sum[kTile] = {};
      double absolute[kTile] = {};
      for (int64_t l = 0; l < n; ++l) {
        const double factor = a[row * n + l];
        for (int64_t j = 0; j < count; ++j) {
          const double term = factor * columns[l * n + j];
          sum[j] += term;
          absolute[j] += std::abs(term);
        }
      }
      std::copy(sum, sum + count, c + begin);
      std::copy(absolute, absolute + count, c_scale + begin);
    }
  }
}
