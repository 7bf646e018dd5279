// specgen:launch relu<<<ceildiv(n, 1024), 256>>>(x, y, n)
__global__ void relu(const float* x, float* y, long long n) {
  long long i = (blockIdx.x * 256LL + threadIdx.x) * 4;
  if (i + 3 < n) {
    float4 v = *reinterpret_cast<const float4*>(x + i);
    *reinterpret_cast<float4*>(y + i) =
        make_float4(fmaxf(v.x, 0.0f), fmaxf(v.y, 0.0f), fmaxf(v.z, 0.0f), fmaxf(v.w, 0.0f));
  } else {
    for (; i < n; ++i) y[i] = fmaxf(x[i], 0.0f);
  }
}
