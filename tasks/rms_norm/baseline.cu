// specgen:launch rms_norm<<<rows, 256>>>(x, weight, y, cols, eps)
#include <cuda_bf16.h>

using T = SPECGEN_DTYPE;

// One block per row.
__global__ void rms_norm(const T* x, const T* weight, T* y, long long cols, float eps) {
  __shared__ float shared[256];
  const int thread = threadIdx.x;
  const T* from = x + blockIdx.x * cols;
  T* into = y + blockIdx.x * cols;

  float squares = 0;
  for (long long j = thread; j < cols; j += 256) {
    const float value = static_cast<float>(from[j]);
    squares += value * value;
  }
  shared[thread] = squares;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (thread < half) shared[thread] += shared[thread + half];
    __syncthreads();
  }
  const float factor = 1.0f / sqrtf(shared[0] / static_cast<float>(cols) + eps);

  for (long long j = thread; j < cols; j += 256) {
    into[j] = static_cast<T>(static_cast<float>(from[j]) * factor * static_cast<float>(weight[j]));
  }
}
