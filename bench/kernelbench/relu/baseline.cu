// specgen:launch relu<<<ceildiv(n, 256), 256>>>(x, y, n)
__global__ void relu(const float* x, float* y, long long n) {
  long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
