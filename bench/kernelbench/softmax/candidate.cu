// One block for each row, two passes: the maximum and the sum are found together.
// specgen:launch softmax<<<rows, 1024>>>(x, y, cols)
struct Part {
  float most, sum;
};
__device__ Part joined(Part a, Part b) {
  float most = fmaxf(a.most, b.most);
  if (most == -INFINITY) return {most, 0.0f};
  return {most, a.sum * __expf(a.most - most) + b.sum * __expf(b.most - most)};
}
__device__ Part over_warp(Part part) {
  for (int step = 16; step > 0; step /= 2) {
    Part other{__shfl_xor_sync(0xffffffff, part.most, step), __shfl_xor_sync(0xffffffff, part.sum, step)};
    part = joined(part, other);
  }
  return part;
}

__global__ void softmax(const float* x, float* y, long long cols) {
  __shared__ Part parts[32];
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  Part part{-INFINITY, 0.0f};
  for (long long c = threadIdx.x; c < cols; c += 1024) part = joined(part, {x[c], 1.0f});
  part = over_warp(part);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = part;
  __syncthreads();
  part = over_warp(parts[threadIdx.x % 32]);
  float scale = 1.0f / part.sum;
  for (long long c = threadIdx.x; c < cols; c += 1024) y[c] = expf(x[c] - part.most) * scale;
}
