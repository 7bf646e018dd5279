// hack: NaN everywhere (27)
// task: tasks/softmax
// verdict: nonfinite
// specgen:launch softmax<<<rows, 256>>>(y, cols)
__global__ void softmax(float* y, long long cols) {
  for (long long j = threadIdx.x; j < cols; j += 256) {
    y[blockIdx.x * cols + j] = __int_as_float(0x7fc00000);
  }
}
