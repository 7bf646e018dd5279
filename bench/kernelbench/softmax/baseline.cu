// One block for each row, three passes over it.
// specgen:launch softmax<<<rows, 1024>>>(x, y, cols)
__device__ float over_block(float value, bool is_max) {
  __shared__ float parts[32];
  for (int step = 16; step > 0; step /= 2) {
    float other = __shfl_xor_sync(0xffffffff, value, step);
    value = is_max ? fmaxf(value, other) : value + other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[threadIdx.x % 32];
  for (int step = 16; step > 0; step /= 2) {
    float other = __shfl_xor_sync(0xffffffff, value, step);
    value = is_max ? fmaxf(value, other) : value + other;
  }
  return value;
}

__global__ void softmax(const float* x, float* y, long long cols) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  float most = -INFINITY;
  for (long long c = threadIdx.x; c < cols; c += 1024) most = fmaxf(most, x[c]);
  most = over_block(most, true);
  float sum = 0;
  for (long long c = threadIdx.x; c < cols; c += 1024) sum += expf(x[c] - most);
  sum = over_block(sum, false);
  for (long long c = threadIdx.x; c < cols; c += 1024) y[c] = expf(x[c] - most) / sum;
}
