#include <cmath>
#include <cstdint>

using T = SPECGEN_DTYPE;

// One plane of y after the other; each weight adds a shifted image to it. Then the plane is
// normalised.
extern "C" void conv2d_norm_relu(const T* x, const T* weight, const T* bias, const T* mean,
                                 const T* variance, const T* gamma, const T* beta, T* __restrict y,
                                 int64_t batch, int64_t channels, int64_t filters,
                                 int64_t out_height, int64_t out_width, int64_t kernel, double eps,
                                 void* /*scratch*/, int tid, int nthreads) {
  const int64_t height = out_height + kernel - 1;
  const int64_t width = out_width + kernel - 1;
  const int64_t planes = batch * filters;
  for (int64_t at = planes * tid / nthreads; at < planes * (tid + 1) / nthreads; ++at) {
    const int64_t image = at / filters;
    const int64_t filter = at % filters;
    T* plane = y + at * out_height * out_width;
    for (int64_t i = 0; i < out_height * out_width; ++i) plane[i] = bias[filter];
    for (int64_t c = 0; c < channels; ++c) {
      const T* pixels = x + (image * channels + c) * height * width;
      const T* weights = weight + (filter * channels + c) * kernel * kernel;
      for (int64_t i = 0; i < kernel; ++i) {
        for (int64_t j = 0; j < kernel; ++j) {
          const float factor = weights[i * kernel + j];
          for (int64_t row = 0; row < out_height; ++row) {
            const T* from = pixels + (row + i) * width + j;
            T* into = plane + row * out_width;
            for (int64_t column = 0; column < out_width; ++column) {
              into[column] += factor * from[column];
            }
          }
        }
      }
    }
    const float factor = gamma[filter] / std::sqrt(variance[filter] + static_cast<float>(eps));
    for (int64_t i = 0; i < out_height * out_width; ++i) {
      const float value = (plane[i] - mean[filter]) * factor + beta[filter];
      plane[i] = value > 0.0f ? value : 0.0f;
    }
  }
}
