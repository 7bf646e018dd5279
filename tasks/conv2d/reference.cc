#include <cmath>
#include <cstdint>

extern "C" void reference(const double* x, const double* weight, const double* bias, double* y,
                          double* y_scale, int64_t /*batch*/, int64_t channels, int64_t filters,
                          int64_t out_height, int64_t out_width, int64_t kernel, int64_t first,
                          int64_t last) {
  const int64_t height = out_height + kernel - 1;
  const int64_t width = out_width + kernel - 1;
  for (int64_t at = first; at < last; ++at) {
    const int64_t column = at % out_width;
    const int64_t row = at / out_width % out_height;
    const int64_t filter = at / (out_width * out_height) % filters;
    const int64_t image = at / (out_width * out_height * filters);
    double sum = bias[filter];
    double absolute = std::abs(sum);
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < kernel; ++i) {
        const double* pixels = x + ((image * channels + c) * height + row + i) * width + column;
        const double* weights = weight + ((filter * channels + c) * kernel + i) * kernel;
        for (int64_t j = 0; j < kernel; ++j) {
          const double term = pixels[j] * weights[j];
          sum += term;
          absolute += std::abs(term);
        }
      }
    }
    y[at] = sum;
    y_scale[at] = absolute;
  }
}
