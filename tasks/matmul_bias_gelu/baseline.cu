// specgen:launch matmul_bias_gelu<<<(ceildiv(cols, 32), ceildiv(rows, 32)), (32, 32)>>>(x, w, bias, y, rows, cols, inner)
using T = SPECGEN_DTYPE;

// One block per tile of 32 x 32 elements of y, one thread per element.
__global__ void matmul_bias_gelu(const T* x, const T* w, const T* bias, T* y, long long m,
                                 long long n, long long k) {
  __shared__ float left[32][32];
  __shared__ float right[32][32];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const long long row = blockIdx.y * 32LL + ty;
  const long long col = blockIdx.x * 32LL + tx;
  float sum = 0;
  for (long long tile = 0; tile < k; tile += 32) {
    left[ty][tx] = row < m && tile + tx < k ? x[row * k + tile + tx] : 0.0f;
    right[ty][tx] = tile + ty < k && col < n ? w[(tile + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int l = 0; l < 32; ++l) sum += left[ty][l] * right[l][tx];
    __syncthreads();
  }
  if (row >= m || col >= n) return;
  sum += bias[col];
  y[row * n + col] = 0.5f * sum * (1.0f + erff(sum * 0.70710678118654752f));
}
