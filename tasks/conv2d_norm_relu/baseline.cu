// specgen:launch conv2d_norm_relu<<<ceildiv(batch * filters * out_height * out_width, 256), 256>>>(x, weight, bias, mean, variance, gamma, beta, y, batch, channels, filters, out_height, out_width, kernel, eps)
using T = SPECGEN_DTYPE;

// One thread per element of y.
__global__ void conv2d_norm_relu(const T* x, const T* weight, const T* bias, const T* mean,
                                 const T* variance, const T* gamma, const T* beta, T* y,
                                 long long batch, int channels, int filters, int out_height,
                                 int out_width, int kernel, float eps) {
  const long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at >= batch * filters * out_height * out_width) return;
  const long long height = out_height + kernel - 1;
  const long long width = out_width + kernel - 1;
  const long long column = at % out_width;
  const long long row = at / out_width % out_height;
  const long long filter = at / out_width / out_height % filters;
  const long long image = at / out_width / out_height / filters;
  float sum = bias[filter];
  for (int c = 0; c < channels; ++c) {
    const T* pixels = x + ((image * channels + c) * height + row) * width + column;
    const T* weights = weight + (filter * channels + c) * kernel * kernel;
    for (int i = 0; i < kernel; ++i) {
      for (int j = 0; j < kernel; ++j) sum += pixels[i * width + j] * weights[i * kernel + j];
    }
  }
  const float factor = gamma[filter] / sqrtf(variance[filter] + eps);
  y[at] = fmaxf(0.0f, (sum - mean[filter]) * factor + beta[filter]);
}
