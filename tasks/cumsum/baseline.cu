// specgen:launch cumsum<<<rows, 512>>>(x, y, cols)
using T = SPECGEN_DTYPE;

// One block per row, which goes along it in tiles of 512 and carries the sum so far. In a tile, step
// by step, every element takes in the sum of twice as many on its left.
__global__ void cumsum(const T* x, T* y, long long cols) {
  __shared__ float sums[512];
  const int thread = threadIdx.x;
  const T* from = x + blockIdx.x * cols;
  T* into = y + blockIdx.x * cols;
  float carry = 0;
  for (long long tile = 0; tile < cols; tile += 512) {
    const long long j = tile + thread;
    float sum = j < cols ? from[j] : 0.0f;
    for (int distance = 1; distance < 512; distance *= 2) {
      sums[thread] = sum;
      __syncthreads();
      if (thread >= distance) sum += sums[thread - distance];
      __syncthreads();
    }
    sums[thread] = sum;
    __syncthreads();
    if (j < cols) into[j] = carry + sum;
    carry += sums[511];
    __syncthreads();  // all have read it before the next tile overwrites it
  }
}
