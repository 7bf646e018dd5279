// specgen:launch gelu<<<ceildiv(n, 256), 256>>>(x, y, n)
#include <cuda_bf16.h>

using T = SPECGEN_DTYPE;

__global__ void gelu(const T* x, T* y, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  const float value = static_cast<float>(x[i]);
  y[i] = static_cast<T>(0.5f * value * (1.0f + erff(value * 0.70710678118654752f)));
}
