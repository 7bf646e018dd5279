extern "C" void reference(const double* x, double* y, double* y_scale, int64_t n, int64_t first,
                          int64_t last) {
  for (int64_t i = first; i < last; ++i) y_scale[i] = y[i] = x[i] > 0 ? x[i] : 0;
}
