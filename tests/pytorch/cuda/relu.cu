// hack: none; four elements a thread, judged by a PyTorch module
// task: tests/pytorch/19_ReLU.py
// verdict: ok
// specgen:launch relu<<<ceildiv(x.n, 1024), 256>>>(x, out0, x.n)
__global__ void relu(const float* x, float* y, long long n) {
  const long long start = blockIdx.x * 1024LL + threadIdx.x;
  for (int k = 0; k < 4; ++k) {
    const long long i = start + k * 256;
    if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
  }
}
