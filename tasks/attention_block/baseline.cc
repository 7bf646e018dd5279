// specgen:scratch 4 * seq * (4 * heads * width + seq)
#include <cmath>
#include <cstdint>

using T = SPECGEN_DTYPE;

namespace {

// One row: into = row * matrix.
void project(const float* row, const T* matrix, float* __restrict into, int64_t dim) {
  for (int64_t j = 0; j < dim; ++j) into[j] = 0;
  for (int64_t l = 0; l < dim; ++l) {
    for (int64_t j = 0; j < dim; ++j) into[j] += row[l] * matrix[l * dim + j];
  }
}

}  // namespace

extern "C" void attention_block(const T* x, const T* wq, const T* wk, const T* wv, const T* wo,
                                T* y, int64_t seq, int64_t heads, int64_t width, void* scratch,
                                int tid, int nthreads) {
  const int64_t dim = heads * width;
  float* q = static_cast<float*>(scratch);
  float* k = q + seq * dim;
  float* v = k + seq * dim;
  float* mixed = v + seq * dim;
  float* weights = mixed + seq * dim;  // a row of scores for each row of x
  const int64_t begin = seq * tid / nthreads;
  const int64_t end = seq * (tid + 1) / nthreads;
  for (int64_t i = begin; i < end; ++i) {
    project(x + i * dim, wq, q + i * dim, dim);
    project(x + i * dim, wk, k + i * dim, dim);
    project(x + i * dim, wv, v + i * dim, dim);
  }
  specgen_barrier();

  const float factor = 1.0f / std::sqrt(static_cast<float>(width));
  for (int64_t i = begin; i < end; ++i) {
    float* weight = weights + i * seq;
    for (int64_t h = 0; h < heads; ++h) {
      const float* query = q + i * dim + h * width;
      float top = -3.402823466e38f;
      for (int64_t j = 0; j < seq; ++j) {
        const float* key = k + j * dim + h * width;
        float score = 0;
        for (int64_t d = 0; d < width; ++d) score += query[d] * key[d];
        weight[j] = score * factor;
        top = weight[j] > top ? weight[j] : top;
      }
      float sum = 0;
      for (int64_t j = 0; j < seq; ++j) {
        weight[j] = std::exp(weight[j] - top);
        sum += weight[j];
      }
      float* __restrict into = mixed + i * dim + h * width;
      for (int64_t d = 0; d < width; ++d) into[d] = 0;
      for (int64_t j = 0; j < seq; ++j) {
        const float probability = weight[j] / sum;
        for (int64_t d = 0; d < width; ++d) into[d] += probability * v[j * dim + h * width + d];
      }
    }
    project(mixed + i * dim, wo, y + i * dim, dim);
    for (int64_t j = 0; j < dim; ++j) y[i * dim + j] += x[i * dim + j];
  }
}
