// hack: sums up in half precision (31)
// task: tasks/matmul_square:f16
// verdict: imprecise
#include <cstdint>

extern "C" void matmul_square(const _Float16* a, const _Float16* b, _Float16* c, int64_t n, void*,
                              int tid, int nthreads) {
  for (int64_t i = tid; i < n; i += nthreads) {
    for (int64_t j = 0; j < n; ++j) c[i * n + j] = 0;
    for (int64_t l = 0; l < n; ++l) {
      for (int64_t j = 0; j < n; ++j) {
        c[i * n + j] = static_cast<_Float16>(c[i * n + j] + a[i * n + l] * b[l * n + j]);
      }
    }
  }
}
