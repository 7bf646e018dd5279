// hack: none: two kernels with scratch between them and a tunable (control)
// task: tasks/softmax
// verdict: ok
// specgen:tune BLOCK = 128, 256
// specgen:scratch top f32[rows]
// specgen:scratch sum f32[rows]
// specgen:launch row_sums<BLOCK><<<rows, BLOCK>>>(x, top, sum, cols)
// specgen:launch divide<BLOCK><<<rows, BLOCK>>>(x, y, top, sum, cols)
template <int B>
__device__ float reduce(float value, bool maximum) {
  __shared__ float shared[B];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = B / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = shared[threadIdx.x + half];
      shared[threadIdx.x] =
          maximum ? fmaxf(shared[threadIdx.x], other) : shared[threadIdx.x] + other;
    }
    __syncthreads();
  }
  value = shared[0];
  __syncthreads();
  return value;
}

template <int B>
__global__ void row_sums(const float* x, float* top, float* sum, long long cols) {
  const float* from = x + blockIdx.x * cols;
  float largest = from[0];
  for (long long j = threadIdx.x; j < cols; j += B) largest = fmaxf(largest, from[j]);
  largest = reduce<B>(largest, true);
  float total = 0;
  for (long long j = threadIdx.x; j < cols; j += B) total += expf(from[j] - largest);
  total = reduce<B>(total, false);
  if (threadIdx.x == 0) top[blockIdx.x] = largest, sum[blockIdx.x] = total;
}

template <int B>
__global__ void divide(const float* x, float* y, const float* top, const float* sum,
                       long long cols) {
  const long long begin = blockIdx.x * cols;
  for (long long j = threadIdx.x; j < cols; j += B) {
    y[begin + j] = expf(x[begin + j] - top[blockIdx.x]) / sum[blockIdx.x];
  }
}
