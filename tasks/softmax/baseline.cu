// specgen:launch softmax<<<rows, 256>>>(x, y, cols)
#include <cuda_fp16.h>

using T = SPECGEN_DTYPE;

// One block per row: its maximum, its sum, then the result.
__global__ void softmax(const T* x, T* y, long long cols) {
  __shared__ float shared[256];
  const int thread = threadIdx.x;
  const T* from = x + blockIdx.x * cols;
  T* into = y + blockIdx.x * cols;

  float top = static_cast<float>(from[0]);
  for (long long j = thread; j < cols; j += 256) top = fmaxf(top, static_cast<float>(from[j]));
  shared[thread] = top;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (thread < half) shared[thread] = fmaxf(shared[thread], shared[thread + half]);
    __syncthreads();
  }
  top = shared[0];
  __syncthreads();  // all have read it before it is written again

  float sum = 0;
  for (long long j = thread; j < cols; j += 256) sum += expf(static_cast<float>(from[j]) - top);
  shared[thread] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (thread < half) shared[thread] += shared[thread + half];
    __syncthreads();
  }
  const float factor = 1.0f / shared[0];

  for (long long j = thread; j < cols; j += 256) {
    into[j] = static_cast<T>(expf(static_cast<float>(from[j]) - top) * factor);
  }
}
