// specgen:scratch q f32[seq, heads * width]
// specgen:scratch k f32[seq, heads * width]
// specgen:scratch v f32[seq, heads * width]
// specgen:scratch mixed f32[seq, heads * width]
// specgen:launch project<<<(ceildiv(heads * width, 32), ceildiv(seq, 32)), (32, 32)>>>(x, wq, q, seq, heads * width)
// specgen:launch project<<<(ceildiv(heads * width, 32), ceildiv(seq, 32)), (32, 32)>>>(x, wk, k, seq, heads * width)
// specgen:launch project<<<(ceildiv(heads * width, 32), ceildiv(seq, 32)), (32, 32)>>>(x, wv, v, seq, heads * width)
// specgen:launch attend<<<(seq, heads), 128, 4 * seq>>>(q, k, v, mixed, seq, heads, width)
// specgen:launch project_and_add<<<(ceildiv(heads * width, 32), ceildiv(seq, 32)), (32, 32)>>>(mixed, wo, x, y, seq, heads * width)
using T = SPECGEN_DTYPE;

// One element of x * w per thread, in tiles of 32 x 32. All threads of a block must call it; outside
// of the matrix the sum is of no use.
__device__ float tiled_sum(const float* x, const T* w, long long rows, long long dim, long long row,
                           long long col) {
  __shared__ float left[32][32];
  __shared__ float right[32][32];
  const int tx = threadIdx.x;
  const int ty = threadIdx.y;
  float sum = 0;
  for (long long tile = 0; tile < dim; tile += 32) {
    left[ty][tx] = row < rows && tile + tx < dim ? x[row * dim + tile + tx] : 0.0f;
    right[ty][tx] = tile + ty < dim && col < dim ? w[(tile + ty) * dim + col] : 0.0f;
    __syncthreads();
    for (int l = 0; l < 32; ++l) sum += left[ty][l] * right[l][tx];
    __syncthreads();
  }
  return sum;
}

__global__ void project(const T* x, const T* w, float* into, long long rows, long long dim) {
  const long long row = blockIdx.y * 32LL + threadIdx.y;
  const long long col = blockIdx.x * 32LL + threadIdx.x;
  const float sum = tiled_sum(x, w, rows, dim, row, col);
  if (row < rows && col < dim) into[row * dim + col] = sum;
}

__global__ void project_and_add(const float* mixed, const T* w, const T* x, T* y, long long rows,
                                long long dim) {
  const long long row = blockIdx.y * 32LL + threadIdx.y;
  const long long col = blockIdx.x * 32LL + threadIdx.x;
  const float sum = tiled_sum(mixed, w, rows, dim, row, col);
  if (row < rows && col < dim) y[row * dim + col] = x[row * dim + col] + sum;
}

// One block of 128 threads per row and head: scores, softmax, then the mix of v's rows.
__global__ void attend(const float* q, const float* k, const float* v, float* mixed, long long seq,
                       long long heads, long long width) {
  extern __shared__ float weights[];  // [seq]
  __shared__ float shared[128];
  const int thread = threadIdx.x;
  const long long dim = heads * width;
  const long long start = blockIdx.y * width;  // of the head
  const float* query = q + blockIdx.x * dim + start;
  const float factor = 1.0f / sqrtf(static_cast<float>(width));

  float top = -3.402823466e38f;
  for (long long j = thread; j < seq; j += 128) {
    const float* key = k + j * dim + start;
    float score = 0;
    for (long long d = 0; d < width; ++d) score += query[d] * key[d];
    score *= factor;
    weights[j] = score;
    top = fmaxf(top, score);
  }
  shared[thread] = top;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (thread < half) shared[thread] = fmaxf(shared[thread], shared[thread + half]);
    __syncthreads();
  }
  top = shared[0];
  __syncthreads();  // all have read it before it is written again

  float sum = 0;
  for (long long j = thread; j < seq; j += 128) {
    weights[j] = expf(weights[j] - top);
    sum += weights[j];
  }
  shared[thread] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (thread < half) shared[thread] += shared[thread + half];
    __syncthreads();
  }
  sum = shared[0];

  for (long long d = thread; d < width; d += 128) {
    float value = 0;
    for (long long j = 0; j < seq; ++j) value += weights[j] * v[j * dim + start + d];
    mixed[blockIdx.x * dim + start + d] = value / sum;
  }
}
