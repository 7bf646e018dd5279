// specgen:launch conv2d<<<ceildiv(batch * filters * out_height * out_width, 256), 256>>>(x, weight, bias, y, batch, channels, filters, out_height, out_width, kernel)
using T = SPECGEN_DTYPE;

// One thread per element of y.
__global__ void conv2d(const T* x, const T* weight, const T* bias, T* y, long long batch,
                       int channels, int filters, int out_height, int out_width, int kernel) {
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
  y[at] = sum;
}
