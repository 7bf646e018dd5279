// specgen:launch matmul<<<(ceildiv(batch * rows * cols, 32), ceildiv(outer, 32)), (32, 32)>>>(a, b, c, batch * rows * cols, outer, inner)
using T = SPECGEN_DTYPE;

// Rows are dense, so the first three axes are one. One block per tile of 32 x 32 elements of c, one
// thread per element; the long axis of c is the grid's x, which has no limit.
__global__ void matmul(const T* a, const T* b, T* c, long long m, long long n, long long k) {
  __shared__ float left[32][32];
  __shared__ float right[32][32];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const long long row = blockIdx.x * 32LL + ty;
  const long long col = blockIdx.y * 32LL + tx;
  float sum = 0;
  for (long long tile = 0; tile < k; tile += 32) {
    left[ty][tx] = row < m && tile + tx < k ? a[row * k + tile + tx] : 0.0f;
    right[ty][tx] = tile + ty < k && col < n ? b[(tile + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int l = 0; l < 32; ++l) sum += left[ty][l] * right[l][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
