import torch
import torch.nn as nn


class Model(nn.Module):
    """Rows so long that every output is tiny: zeros would pass an absolute tolerance."""

    def __init__(self):
        super(Model, self).__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


batch_size = 4
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
