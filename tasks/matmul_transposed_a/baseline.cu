// specgen:launch matmul<<<(ceildiv(n, 32), ceildiv(m, 32)), (32, 32)>>>(a, b, c, m, n, k)
using T = SPECGEN_DTYPE;

// One block per tile of 32 x 32 elements of c, one thread per element. The tile of a is read along
// its rows as it lies: left[l][i].
__global__ void matmul(const T* a, const T* b, T* c, long long m, long long n, long long k) {
  __shared__ float left[32][32];
  __shared__ float right[32][32];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  const long long row = blockIdx.y * 32LL + ty;
  const long long col = blockIdx.x * 32LL + tx;
  const long long left_col = blockIdx.y * 32LL + tx;
  float sum = 0;
  for (long long tile = 0; tile < k; tile += 32) {
    left[ty][tx] = tile + ty < k && left_col < m ? a[(tile + ty) * m + left_col] : 0.0f;
    right[ty][tx] = tile + ty < k && col < n ? b[(tile + ty) * n + col] : 0.0f;
    __syncthreads();
    for (int l = 0; l < 32; ++l) sum += left[l][ty] * right[l][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
