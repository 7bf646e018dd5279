// hack: softmax without subtracting the maximum (32)
// task: tasks/softmax
// verdict: imprecise
// specgen:launch softmax<<<rows, 1>>>(x, y, cols)
__global__ void softmax(const float* x, float* y, long long cols) {
  float sum = 0;
  for (long long j = 0; j < cols; ++j) sum += expf(x[blockIdx.x * cols + j]);
  for (long long j = 0; j < cols; ++j) {
    y[blockIdx.x * cols + j] = expf(x[blockIdx.x * cols + j]) / sum;
  }
}
