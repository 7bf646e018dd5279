// hack: is no CUDA at all
// task: tasks/softmax
// verdict: compile_error
// specgen:launch softmax<<<rows, 256>>>(x, y, cols)
__global__ void softmax(const float* x, float* y, long long cols) {
  this is no code;
}
