# hack: none: a module with inline CUDA
# task: tests/pytorch/19_ReLU.py
# verdict: ok
import torch
from torch.utils.cpp_extension import load_inline

source = """
__global__ void relu_kernel(const float* x, float* y, long long count) {
  long long at = blockIdx.x * 256LL + threadIdx.x;
  if (at < count) y[at] = x[at] > 0 ? x[at] : 0;
}
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  relu_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
extension = load_inline(
    "relu_inline", cpp_sources="torch::Tensor relu(torch::Tensor x);", cuda_sources=source, functions=["relu"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
