"""Times what a vendor's library needs for a case. Reads one JSON document, prints one."""

import json
import statistics
import sys
import time

import torch

BUDGET_S = 0.4
FEWEST = 5


def draw(spec, device):
    dtype = getattr(torch, spec["dtype"])
    shape = spec["shape"]
    kind, a, b = spec["kind"], spec["a"], spec["b"]
    if kind == "integers":
        return torch.randint(int(a), int(b), shape, device=device).to(dtype)
    if kind == "signs":
        return (2 * torch.randint(0, 2, shape, device=device) - 1).to(dtype)
    if kind == "normal" or kind == "heavy":
        return (torch.randn(shape, device=device) * (b if kind == "normal" else a)).to(dtype)
    return (torch.rand(shape, device=device) * (b - a) + a).to(dtype)


def main():
    spec = json.load(sys.stdin)
    device = spec["device"]
    on_gpu = device != "cpu"
    if not on_gpu:
        torch.set_num_threads(spec["threads"])
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    names = {"torch": torch, **spec["values"]}
    for tensor in spec["inputs"]:
        names[tensor["name"]] = draw(tensor, device)
    code = compile(spec["expression"], "vendor", "eval")

    def call():
        start = time.perf_counter()
        with torch.no_grad():
            eval(code, names)
        if on_gpu:
            torch.cuda.synchronize()
        return time.perf_counter() - start

    for _ in range(3):
        call()
    samples = []
    end = time.perf_counter() + BUDGET_S
    while len(samples) < FEWEST or (time.perf_counter() < end and len(samples) < 1000):
        samples.append(call())
    print(json.dumps({"seconds": statistics.median(samples), "torch": torch.__version__}))


main()
