// specgen:scratch 4 * ceildiv(n, 1024)
#include <cstdint>

using T = SPECGEN_DTYPE;

// One sum per chunk, then a sum of those: exact enough, and the same whatever nthreads is.
extern "C" void hinge_loss(const T* predictions, const T* targets, T* loss, int64_t n,
                           void* scratch, int tid, int nthreads) {
  constexpr int64_t kChunk = 1024;
  float* partial = static_cast<float*>(scratch);
  const int64_t chunks = (n + kChunk - 1) / kChunk;
  for (int64_t chunk = chunks * tid / nthreads; chunk < chunks * (tid + 1) / nthreads; ++chunk) {
    const int64_t begin = chunk * kChunk;
    const int64_t end = begin + kChunk < n ? begin + kChunk : n;
    float sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      const float margin = 1.0f - predictions[i] * targets[i];
      sum += margin > 0.0f ? margin : 0.0f;
    }
    partial[chunk] = sum;
  }
  specgen_barrier();
  if (tid != 0) return;
  float sum = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk];
  loss[0] = sum / static_cast<float>(n);
}
