// hack: none; parameters of the module come as tensors, its number as a scalar
// task: tests/pytorch/3_Linear_Tanh.py
// verdict: ok
// specgen:launch linear_tanh<<<(128, x.0), 32>>>(x, layer_weight, layer_bias, out0, x.1, scale)
__global__ void linear_tanh(const float* x, const float* weight, const float* bias, float* y,
                            int features, float scale) {
  const int row = blockIdx.y;
  const int column = blockIdx.x;
  float sum = 0;
  for (int k = threadIdx.x; k < features; k += 32) {
    sum += x[row * features + k] * weight[column * features + k];
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x == 0) y[row * gridDim.x + column] = tanhf(sum + bias[column]) * scale;
}
