// hack: none; constants with names, to which the compiler gives memory that no instruction reads
// task: tasks/softmax
// verdict: ok
// specgen:launch softmax<<<rows, 128>>>(x, y, cols)
constexpr int kThreads = 128;
const float kLowest = -3.4e38f;
struct Steps {
  static constexpr int kFirst = kThreads / 2;
};

__global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float shared[kThreads];
  const int thread = threadIdx.x;
  const float* from = x + static_cast<long long>(blockIdx.x) * cols;
  float* into = y + static_cast<long long>(blockIdx.x) * cols;
  float top = kLowest;
  for (int j = thread; j < cols; j += kThreads) top = fmaxf(top, from[j]);
  shared[thread] = top;
  __syncthreads();
  for (int step = Steps::kFirst; step > 0; step /= 2) {
    if (thread < step) shared[thread] = fmaxf(shared[thread], shared[thread + step]);
    __syncthreads();
  }
  top = shared[0];
  __syncthreads();
  float sum = 0;
  for (int j = thread; j < cols; j += kThreads) sum += expf(from[j] - top);
  shared[thread] = sum;
  __syncthreads();
  for (int step = Steps::kFirst; step > 0; step /= 2) {
    if (thread < step) shared[thread] += shared[thread + step];
    __syncthreads();
  }
  for (int j = thread; j < cols; j += kThreads) into[j] = expf(from[j] - top) / shared[0];
}
