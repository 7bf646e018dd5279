// specgen:scratch partial f32[ceildiv(n, 8192)]
// specgen:launch partial_sums<<<ceildiv(n, 8192), 256>>>(predictions, targets, partial, n)
// specgen:launch mean_of_sums<<<1, 256>>>(partial, loss, ceildiv(n, 8192), n)
using T = SPECGEN_DTYPE;

// The sum over a block of 256 threads; only thread 0 may use it.
__device__ float block_sum(float value) {
  __shared__ float sums[256];
  const int thread = threadIdx.x;
  sums[thread] = value;
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) sums[thread] += sums[thread + half];
  }
  return sums[thread];
}

__global__ void partial_sums(const T* predictions, const T* targets, float* partial, long long n) {
  const long long begin = blockIdx.x * 8192LL;
  const long long end = begin + 8192 < n ? begin + 8192 : n;
  float sum = 0;
  for (long long i = begin + threadIdx.x; i < end; i += 256) {
    sum += fmaxf(0.0f, 1.0f - predictions[i] * targets[i]);
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void mean_of_sums(const float* partial, T* loss, long long parts, long long n) {
  float sum = 0;
  for (long long i = threadIdx.x; i < parts; i += 256) sum += partial[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) loss[0] = sum / static_cast<float>(n);
}
