#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

// The scale of an element is what rounding errors of one unit (2^-24 in f32) come to at the end. Four sums follow
// each other here; taken by absolute values through all of them, errors would come out larger than
// the result. They are independent, so they are carried as roots of sums of squares:
//   a projection is off by the sum of its absolute terms (q_error, k_error, v_error: the largest of
//     a row of a head);
//   a score by those of q and k, each times the length of the other vector, and its own sum;
//   a probability by its factor: the error of its score and of exp, |score - max|;
//   a head's output by the probabilities' errors times its values, the values' errors, and sqrt(seq)
//     of itself for the sum of the probabilities, which are positive;
//   y by all of these times wo, and by the sum of its absolute terms.
namespace {

struct Projection {
  std::vector<double> value;   // [seq, dim]
  std::vector<double> error;   // [seq, heads], the largest in the head
  std::vector<double> length;  // [seq, heads], of the vector
  std::vector<double> top;     // [seq, heads], the largest absolute value
};

Projection project(const double* x, const double* w, int64_t seq, int64_t heads, int64_t width) {
  const int64_t dim = heads * width;
  Projection made{std::vector<double>(seq * dim), std::vector<double>(seq * heads),
                  std::vector<double>(seq * heads), std::vector<double>(seq * heads)};
  std::vector<double> absolute(dim);
  for (int64_t i = 0; i < seq; ++i) {
    double* row = made.value.data() + i * dim;
    std::fill(absolute.begin(), absolute.end(), 0.0);
    for (int64_t l = 0; l < dim; ++l) {
      const double left = x[i * dim + l];
      for (int64_t j = 0; j < dim; ++j) {
        const double term = left * w[l * dim + j];
        row[j] += term;
        absolute[j] += std::abs(term);
      }
    }
    for (int64_t j = 0; j < dim; ++j) {
      const int64_t at = i * heads + j / width;
      made.error[at] = std::max(made.error[at], absolute[j]);
      made.top[at] = std::max(made.top[at], std::abs(row[j]));
      made.length[at] += row[j] * row[j];
    }
  }
  for (double& length : made.length) length = std::sqrt(length);
  return made;
}

}  // namespace

extern "C" void reference(const double* x, const double* wq, const double* wk, const double* wv,
                          const double* wo, double* y, double* y_scale, int64_t seq, int64_t heads,
                          int64_t width, int64_t first, int64_t last) {
  const int64_t dim = heads * width;
  const Projection q = project(x, wq, seq, heads, width);
  const Projection k = project(x, wk, seq, heads, width);
  const Projection v = project(x, wv, seq, heads, width);
  const double root = std::sqrt(static_cast<double>(width));

  std::vector<double> weight(seq);
  std::vector<double> mixed(dim);
  std::vector<double> mixed_error(dim);
  std::vector<double> sum(dim);
  std::vector<double> absolute(dim);
  std::vector<double> squares(dim);
  for (int64_t i = first / dim; i * dim < last; ++i) {
    std::fill(mixed.begin(), mixed.end(), 0.0);
    for (int64_t h = 0; h < heads; ++h) {
      const int64_t mine = i * heads + h;
      double top = -INFINITY;
      for (int64_t j = 0; j < seq; ++j) {
        double score = 0;
        for (int64_t d = 0; d < width; ++d) {
          score += q.value[i * dim + h * width + d] * k.value[j * dim + h * width + d];
        }
        weight[j] = score / root;
        top = std::max(top, weight[j]);
      }
      double all = 0;
      for (int64_t j = 0; j < seq; ++j) all += std::exp(weight[j] - top);
      double squared = 0;
      for (int64_t j = 0; j < seq; ++j) {
        const int64_t other = j * heads + h;
        const double score_error =
            std::hypot(q.error[mine] * k.length[other], q.length[mine] * k.error[other],
                       q.length[mine] * k.length[other]) /
            root;
        const double factor_error = score_error + (top - weight[j]) + 2;
        const double probability = std::exp(weight[j] - top) / all;
        squared += std::pow(probability * factor_error * v.top[other], 2) +
                   std::pow(probability * v.error[other], 2);
        for (int64_t d = 0; d < width; ++d) {
          mixed[h * width + d] += probability * v.value[j * dim + h * width + d];
        }
      }
      for (int64_t d = h * width; d < (h + 1) * width; ++d) {
        mixed_error[d] = squared + static_cast<double>(seq) * mixed[d] * mixed[d];
      }
    }
    for (int64_t j = 0; j < dim; ++j) {
      sum[j] = x[i * dim + j];
      absolute[j] = std::abs(sum[j]);
      squares[j] = 0;
    }
    for (int64_t d = 0; d < dim; ++d) {
      for (int64_t j = 0; j < dim; ++j) {
        const double factor = wo[d * dim + j];
        sum[j] += mixed[d] * factor;
        absolute[j] += std::abs(mixed[d] * factor);
        squares[j] += mixed_error[d] * factor * factor;
      }
    }
    for (int64_t at = std::max(first, i * dim); at < std::min(last, (i + 1) * dim); ++at) {
      y[at] = sum[at - i * dim];
      y_scale[at] = std::sqrt(squares[at - i * dim]) + absolute[at - i * dim];
    }
  }
}
