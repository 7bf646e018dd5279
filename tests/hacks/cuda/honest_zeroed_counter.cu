// hack: none: sums up with atomics into an output that the harness zeroes (control)
// task: tasks/hinge_loss
// verdict: ok
// specgen:zero loss
// specgen:launch hinge<<<256, 256>>>(predictions, targets, loss, n)
__global__ void hinge(const float* predictions, const float* targets, float* loss, long long n) {
  __shared__ float shared[256];
  float sum = 0;
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += 256LL * 256) {
    sum += fmaxf(0.0f, 1.0f - predictions[i] * targets[i]);
  }
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(loss, shared[0] / n);
}
