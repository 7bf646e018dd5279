# hack: a module that gives zeros
# task: tests/pytorch/19_ReLU.py
# verdict: wrong
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
