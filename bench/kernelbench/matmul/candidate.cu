// Tiles of 64 x 64, sixteen elements in the registers of each thread.
// specgen:launch matmul<<<(ceildiv(n, 64), ceildiv(n, 64)), 256>>>(a, b, c, n)
__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[16][65];
  __shared__ float right[16][64];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int row = blockIdx.y * 64, col = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int tile = 0; tile < n; tile += 16) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      int r = row + i / 16, k = tile + i % 16;
      left[i % 16][i / 16] = r < n && k < n ? a[static_cast<long long>(r) * n + k] : 0.0f;
      int k2 = tile + i / 64, c2 = col + i % 64;
      right[i / 64][i % 64] = k2 < n && c2 < n ? b[static_cast<long long>(k2) * n + c2] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k) {
      float x[4], y[4];
      for (int i = 0; i < 4; ++i) x[i] = left[k][ty * 4 + i];
      for (int j = 0; j < 4; ++j) y[j] = right[k][tx + 16 * j];
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) sum[i][j] += x[i] * y[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      int r = row + ty * 4 + i, cc = col + tx + 16 * j;
      if (r < n && cc < n) c[static_cast<long long>(r) * n + cc] = sum[i][j];
    }
  }
}
