import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features, out_features):
        super(Model, self).__init__()
        self.layer = nn.Linear(in_features, out_features)

    def forward(self, x, scale):
        return torch.tanh(self.layer(x)) * scale


batch_size = 32
in_features = 256
out_features = in_features // 2


def get_inputs():
    return [torch.randn(batch_size, in_features), 2.5]


def get_init_inputs():
    return [in_features, out_features]
