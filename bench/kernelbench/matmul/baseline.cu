// specgen:launch matmul<<<(ceildiv(n, 32), ceildiv(n, 32)), (32, 32)>>>(a, b, c, n)
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = SPECGEN_DTYPE;

// One block per tile of 32 x 32 elements of c, one thread per element.
__global__ void matmul(const T* a, const T* b, T* c, long long n) {
  __shared__ float left[32][32];
  __shared__ float right[32][32];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const long long row = blockIdx.y * 32LL + ty;
  const long long col = blockIdx.x * 32LL + tx;
  float sum = 0;
  for (long long tile = 0; tile < n; tile += 32) {
    left[ty][tx] = row < n && tile + tx < n ? static_cast<float>(a[row * n + tile + tx]) : 0.0f;
    right[ty][tx] = tile + ty < n && col < n ? static_cast<float>(b[(tile + ty) * n + col]) : 0.0f;
    __syncthreads();
    for (int l = 0; l < 32; ++l) sum += left[ty][l] * right[l][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = static_cast<T>(sum);
}
