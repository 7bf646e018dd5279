#include <cstdint>

using T = SPECGEN_DTYPE;

// One plane of y after the other; each weight adds a shifted image to it.
extern "C" void conv2d(const T* x, const T* weight, const T* bias, T* __restrict y, int64_t batch,
                       int64_t channels, int64_t filters, int64_t out_height, int64_t out_width,
                       int64_t kernel, void* /*scratch*/, int tid, int nthreads) {
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
  }
}
