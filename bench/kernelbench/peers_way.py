"""How KernelBench judges a candidate, step by step, for a comparison in the same run: inputs by the problem
(made on the CPU), load_inline, five trials against the reference with fixed seeds, a hundred timings with the L2
cache flushed. Prints the seconds that one candidate took.

    python3 peers_way.py relu|softmax|matmul CANDIDATE.cu
"""

import re
import sys
import time

import torch
from torch.utils.cpp_extension import load_inline

TRIALS, TIMINGS = 5, 100

PROBLEMS = {  # inputs, the reference, the C++ that launches the kernel
    "relu": (
        lambda: [torch.rand(4096, 393216)],
        lambda x: torch.relu(x),
        "torch::Tensor run(torch::Tensor x) { auto y = torch::empty_like(x); long long n = x.numel();"
        " relu<<<(n + 1023) / 1024, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n); return y; }",
        "torch::Tensor run(torch::Tensor x);",
    ),
    "softmax": (
        lambda: [torch.rand(4096, 393216)],
        lambda x: torch.softmax(x, dim=1),
        "torch::Tensor run(torch::Tensor x) { auto y = torch::empty_like(x);"
        " softmax<<<x.size(0), 1024>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.size(1)); return y; }",
        "torch::Tensor run(torch::Tensor x);",
    ),
    "matmul": (
        lambda: [torch.rand(4096, 4096), torch.rand(4096, 4096)],
        lambda a, b: torch.matmul(a, b),
        "torch::Tensor run(torch::Tensor a, torch::Tensor b) { auto c = torch::empty_like(a); int n = a.size(0);"
        " matmul<<<dim3((n + 63) / 64, (n + 63) / 64), 256>>>(a.data_ptr<float>(), b.data_ptr<float>(),"
        " c.data_ptr<float>(), n); return c; }",
        "torch::Tensor run(torch::Tensor a, torch::Tensor b);",
    ),
}


def main():
    name, path = sys.argv[1:3]
    inputs, reference, launcher, declaration = PROBLEMS[name]
    device_code = re.sub(r"^// specgen:.*$", "", open(path).read(), flags=re.M)
    start = time.perf_counter()
    module = load_inline(name=f"peer_{name}", cpp_sources=declaration, functions=["run"],
                         cuda_sources="#include <torch/extension.h>\n" + device_code + launcher)
    compiled = time.perf_counter()
    torch.manual_seed(42)
    seeds = [int(torch.randint(0, 2**31, (1,))) for _ in range(TRIALS)]
    for seed in seeds:
        torch.manual_seed(seed)
        tensors = [tensor.cuda() for tensor in inputs()]
        expected = reference(*tensors)
        torch.cuda.synchronize()
        got = module.run(*tensors)
        torch.cuda.synchronize()
        if not torch.allclose(expected, got, atol=1e-4, rtol=1e-4):
            print("peer: not equal")
        del expected, got
    checked = time.perf_counter()
    torch.manual_seed(42)
    tensors = [tensor.cuda() for tensor in inputs()]
    for _ in range(3):
        module.run(*tensors)
        torch.cuda.synchronize()
    times = []
    for _ in range(TIMINGS):
        torch.cuda.synchronize()
        flush = torch.empty(32 * 1024 * 1024, dtype=torch.int64, device="cuda")
        flush.fill_(42)
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        module.run(*tensors)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    done = time.perf_counter()
    print(f"peer {name}: {done - start:.1f} s a candidate, {60 / (done - start):.2f} candidates a minute "
          f"(compile {compiled - start:.1f} s, check {checked - compiled:.1f} s, time {done - checked:.1f} s; "
          f"kernel {sum(times) / len(times):.3f} ms)")


main()
