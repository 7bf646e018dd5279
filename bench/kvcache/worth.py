#!/usr/bin/env python3
"""What the KV cache is worth to a fork: its time to first token with a long prefix, on a transformer of the shape of an
8B model with random weights. Three ways, taken in turn: the prefix computed again, fetched from a node over TCP
loopback, and fetched through the node's shared memory. Each ends with the fork's own tokens computed on top of
the prefix. What was fetched is compared with what was stored, to the last bit.

    worth.py --bin build/release/bin            on a GPU (about a minute on an H200)
    worth.py --bin build/release/bin --tiny     on a CPU, to try this script
"""

import argparse
import ctypes
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import torch
import torch.nn.functional as F


class Shape:
    def __init__(self, tiny):
        self.layers = 2 if tiny else 32
        self.hidden = 64 if tiny else 4096
        self.heads = 4 if tiny else 32
        self.kv_heads = 2 if tiny else 8
        self.head_dim = 16 if tiny else 128
        self.ffn = 128 if tiny else 14336
        self.vocabulary = 256 if tiny else 128256
        self.prefix = 256 if tiny else 16384
        self.chunk = 32  # tokens of a value: 4 MiB
        self.fork = 8 if tiny else 64  # tokens of the fork's own
        self.dtype = torch.bfloat16
        self.device = torch.device("cpu" if tiny else "cuda")

    def token_bytes(self):
        return 2 * self.kv_heads * self.head_dim * self.layers * 2

    def chunk_bytes(self):
        return self.token_bytes() * self.chunk


def attention(q, k, v, past):
    """q: [1, heads, new, dim]; k and v: [1, kv_heads, past + new, dim]."""
    repeat = q.shape[1] // k.shape[1]
    if hasattr(F, "scaled_dot_product_attention"):
        k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        if past == 0:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        try:
            from torch.nn.attention.bias import causal_lower_right

            return F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.shape[2], k.shape[2]))
        except ImportError:
            mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(past)
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    k, v = k.repeat_interleave(repeat, 1).float(), v.repeat_interleave(repeat, 1).float()
    scores = q.float() @ k.transpose(2, 3) / q.shape[3] ** 0.5
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(past)
    return (scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v).to(q.dtype)


class Transformer:
    def __init__(self, shape):
        self.shape = shape
        s, kv = shape, shape.kv_heads * shape.head_dim

        def weight(rows, columns):
            return torch.randn(rows, columns, device=s.device, dtype=s.dtype) * rows**-0.5

        self.embedding = weight(s.vocabulary, s.hidden)
        self.head = weight(s.hidden, s.vocabulary)
        self.blocks = []
        for _ in range(s.layers):
            self.blocks.append(
                {
                    "qkv": weight(s.hidden, s.heads * s.head_dim + 2 * kv),
                    "out": weight(s.heads * s.head_dim, s.hidden),
                    "gate_up": weight(s.hidden, 2 * s.ffn),
                    "down": weight(s.ffn, s.hidden),
                }
            )
        positions = torch.arange(s.prefix + s.fork, device=s.device, dtype=torch.float32)
        steps = torch.arange(0, s.head_dim, 2, device=s.device, dtype=torch.float32)
        angles = positions[:, None] * (500000.0 ** (-steps / s.head_dim))[None, :]
        self.cos, self.sin = angles.cos().to(s.dtype), angles.sin().to(s.dtype)

    def turned(self, x, past):
        cos, sin = self.cos[past : past + x.shape[2]], self.sin[past : past + x.shape[2]]
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

    @staticmethod
    def normed(x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5).to(x.dtype)

    @torch.no_grad()
    def forward(self, tokens, cache, past):
        """The next token. `cache` [layers, 2, kv_heads, prefix + fork, dim] has `past` tokens and gets those that are new."""
        s, n = self.shape, tokens.shape[0]
        x = self.embedding[tokens][None]
        for block, (keys, values) in zip(self.blocks, cache):
            q, k, v = (self.normed(x) @ block["qkv"]).split(
                [s.heads * s.head_dim, s.kv_heads * s.head_dim, s.kv_heads * s.head_dim], -1
            )
            q = self.turned(q.view(1, n, s.heads, s.head_dim).transpose(1, 2), past)
            k = self.turned(k.view(1, n, s.kv_heads, s.head_dim).transpose(1, 2), past)
            v = v.view(1, n, s.kv_heads, s.head_dim).transpose(1, 2)
            keys[:, past : past + n] = k[0]
            values[:, past : past + n] = v[0]
            out = attention(q, keys[None, :, : past + n], values[None, :, : past + n], past)
            x = x + out.transpose(1, 2).reshape(1, n, -1) @ block["out"]
            gate, up = (self.normed(x) @ block["gate_up"]).chunk(2, -1)
            x = x + (F.silu(gate) * up) @ block["down"]
        return (self.normed(x[:, -1]) @ self.head).argmax(-1).item()


class Redis:
    """One connection, one request at a time, as engines' clients have it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def line(self):
        text = b""
        while not text.endswith(b"\r\n"):
            byte = self.socket.recv(1)
            if not byte:
                raise RuntimeError("the node closed the connection")
            text += byte
        return text[:-2]

    def exactly(self, view):
        while len(view):
            n = self.socket.recv_into(view)
            if n == 0:
                raise RuntimeError("the node closed the connection")
            view = view[n:]

    def set(self, key, view):
        self.socket.sendall(b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n" % (len(key), key, len(view)))
        self.socket.sendall(view)
        self.socket.sendall(b"\r\n")
        if self.line() != b"+OK":
            raise RuntimeError("SET was not answered with OK")

    def get(self, key, view):
        self.socket.sendall(b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key))
        head = self.line()
        if head == b"$-1":
            return False
        if head != b"$%d" % len(view):
            raise RuntimeError("a value of another length: %r" % head)
        self.exactly(view)
        end = bytearray(2)
        self.exactly(memoryview(end))
        return True

    def stats(self):
        self.socket.sendall(b"*1\r\n$8\r\nKV.STATS\r\n")
        text = bytearray(int(self.line()[1:]) + 2)
        self.exactly(memoryview(text))
        figures = {}
        for line in text.decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                figures[name] = float(value)
        return figures


class SharedMemory:
    """The node's shared memory, through libspecgen_kv."""

    def __init__(self, library, path, slots, slot_bytes):
        self.lib = ctypes.CDLL(library)
        self.lib.specgen_kv_open.restype = ctypes.c_void_p
        self.lib.specgen_kv_arena.restype = ctypes.c_void_p
        self.lib.specgen_kv_reserve.restype = ctypes.c_void_p
        self.lib.specgen_kv_get.restype = ctypes.c_int64
        error = ctypes.create_string_buffer(200)
        arena = slots * slot_bytes
        self.kv = self.lib.specgen_kv_open(path.encode(), ctypes.c_size_t(arena), 20000, error, ctypes.c_size_t(200))
        if not self.kv:
            raise RuntimeError(error.value.decode())
        self.kv = ctypes.c_void_p(self.kv)
        base = self.lib.specgen_kv_arena(self.kv)
        if torch.cuda.is_available():  # so that the device reads it directly
            status = torch.cuda.cudart().cudaHostRegister(base, arena, 0)
            if int(status) != 0:
                raise RuntimeError("cudaHostRegister: %s" % status)
        self.slots = []
        for _ in range(slots):
            at = self.lib.specgen_kv_reserve(self.kv, ctypes.c_size_t(slot_bytes))
            bytes_there = (ctypes.c_ubyte * slot_bytes).from_address(at)
            self.slots.append((ctypes.c_void_p(at), torch.frombuffer(bytes_there, dtype=torch.uint8)))

    def get(self, key, slot, size):
        got = self.lib.specgen_kv_get(self.kv, key, ctypes.c_size_t(len(key)), slot, ctypes.c_size_t(size))
        if got == -1:
            return False
        if got != size:
            raise RuntimeError("shared memory says %d" % got)
        return True


class Fetcher:
    """Threads that fetch chunks and put them into the cache on the device while the next ones come."""

    def __init__(self, shape, clients, slots):
        self.shape, self.clients, self.slots = shape, clients, slots
        self.on_gpu = shape.device.type == "cuda"
        self.staging, self.streams = [], []
        for _ in clients:
            self.staging.append([torch.empty(shape.chunk_bytes(), dtype=torch.uint8, device=shape.device) for _ in range(slots)])
            self.streams.append(torch.cuda.Stream() if self.on_gpu else None)

    def place(self, cache, chunk, staged):
        s, first = self.shape, chunk * self.shape.chunk
        shaped = staged.view(s.dtype).view(s.layers, 2, s.kv_heads, s.chunk, s.head_dim)
        cache[:, :, :, first : first + s.chunk] = shaped

    def work(self, number, keys, cache, one, problems):
        client, stream = self.clients[number], self.streams[number]
        events = [None] * self.slots
        try:
            for turn, chunk in enumerate(range(number, len(keys), len(self.clients))):
                slot = turn % self.slots
                if events[slot] is not None:
                    events[slot].synchronize()
                host = one(client, number, slot, keys[chunk])
                if host is None:
                    raise RuntimeError("chunk %d is a miss" % chunk)
                if self.on_gpu:
                    with torch.cuda.stream(stream):
                        self.staging[number][slot].copy_(host, non_blocking=True)
                        self.place(cache, chunk, self.staging[number][slot])
                        events[slot] = torch.cuda.Event()
                        events[slot].record(stream)
                else:
                    self.staging[number][slot].copy_(host)
                    self.place(cache, chunk, self.staging[number][slot])
        except Exception as problem:  # for the thread that waits
            problems.append(problem)

    def fetch(self, keys, cache, one):
        problems = []
        threads = [
            threading.Thread(target=self.work, args=(i, keys, cache, one, problems)) for i in range(len(self.clients))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        if self.on_gpu:
            torch.cuda.synchronize()


def start_node(binaries, memory, socket_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    node = subprocess.Popen(
        [os.path.join(binaries, "specgen-node"), "--kv", memory, "--kv-listen", "127.0.0.1:%d" % port, "--kv-lane", socket_path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(500):
        try:
            return node, port, Redis(port)
        except OSError:
            time.sleep(0.02)
    raise RuntimeError("specgen-node does not start")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="a file for the figures")
    arguments = parser.parse_args()
    shape = Shape(arguments.tiny)
    if not arguments.tiny and not torch.cuda.is_available():
        print("SKIPPED: there is no GPU that PyTorch can use. NOTHING WAS MEASURED.")
        return 0
    torch.manual_seed(1)
    sync = torch.cuda.synchronize if shape.device.type == "cuda" else (lambda: None)

    folder = tempfile.mkdtemp()
    prefix_bytes = shape.token_bytes() * shape.prefix
    memory = "%dMiB" % max(256, 2 * prefix_bytes // 2**20)
    node, port, admin = start_node(arguments.bin, memory, os.path.join(folder, "shm"))
    try:
        model = Transformer(shape)
        tokens = torch.randint(0, shape.vocabulary, (shape.prefix,), device=shape.device)
        fork = torch.randint(0, shape.vocabulary, (shape.fork,), device=shape.device)

        def empty_cache():
            return torch.zeros(
                shape.layers, 2, shape.kv_heads, shape.prefix + shape.fork, shape.head_dim, dtype=shape.dtype, device=shape.device
            )

        # What the stream that the fork comes from has stored.
        cache = empty_cache()
        model.forward(tokens, cache, 0)
        reference = cache[:, :, :, : shape.prefix].clone()
        while True:
            figures = admin.stats()
            if figures["specgen_kv_ready_bytes"] >= min(1.1 * prefix_bytes, figures["specgen_kv_lent_bytes"] * 0.9):
                break
            time.sleep(0.05)
        keys = [b"worth@00000000@0@%064x@worth" % i for i in range(shape.prefix // shape.chunk)]
        began = time.perf_counter()
        for i, key in enumerate(keys):
            part = cache[:, :, :, i * shape.chunk : (i + 1) * shape.chunk].contiguous().cpu()
            admin.set(key, memoryview(part.view(torch.uint8).reshape(-1).numpy()))
        store_s = time.perf_counter() - began

        size, slots = shape.chunk_bytes(), 4
        pinned = [
            [torch.empty(size, dtype=torch.uint8, pin_memory=shape.device.type == "cuda") for _ in range(slots)]
            for _ in range(arguments.clients)
        ]
        tcp = Fetcher(shape, [Redis(port) for _ in range(arguments.clients)], slots)

        def by_tcp(client, number, slot, key):
            host = pinned[number][slot]
            return host if client.get(key, memoryview(host.numpy())) else None

        library = os.path.join(arguments.bin, "libspecgen_kv.so")
        if not os.path.exists(library):
            library = os.path.join(arguments.bin, "../lib/libspecgen_kv.so")
        socket_path = os.path.join(folder, "shm")
        shared = Fetcher(shape, [SharedMemory(library, socket_path, slots, size) for _ in range(max(1, arguments.clients // 2))], slots)

        def by_shared_memory(client, number, slot, key):
            pointer, view = client.slots[slot]
            return view if client.get(key, pointer, size) else None

        def recompute(cache):
            model.forward(tokens, cache, 0)

        ways = {
            "recomputed": recompute,
            "fetched over TCP": lambda cache: tcp.fetch(keys, cache, by_tcp),
            "fetched by shared memory": lambda cache: shared.fetch(keys, cache, by_shared_memory),
        }
        times = {name: {"prefix": [], "first_token": []} for name in ways}
        answers = set()
        for turn in range(arguments.rounds + 1):
            for name, way in ways.items():
                cache = empty_cache()
                sync()
                began = time.perf_counter()
                way(cache)
                sync()
                middle = time.perf_counter()
                answers.add(model.forward(fork, cache, shape.prefix))
                sync()
                end = time.perf_counter()
                if name != "recomputed" and not torch.equal(cache[:, :, :, : shape.prefix], reference):
                    raise RuntimeError("%s: what came is not what was stored" % name)
                if turn > 0:  # the first is for warming up
                    times[name]["prefix"].append(middle - began)
                    times[name]["first_token"].append(end - began)

        device = torch.cuda.get_device_name() if shape.device.type == "cuda" else "CPU (a tiny model: figures mean nothing)"
        base = statistics.median(times["recomputed"]["first_token"])
        rows = []
        for name, each in times.items():
            prefix_s, first = statistics.median(each["prefix"]), statistics.median(each["first_token"])
            rows.append(
                {
                    "way": name,
                    "first_token_s": first,
                    "min_s": min(each["first_token"]),
                    "max_s": max(each["first_token"]),
                    "prefix_s": prefix_s,
                    "bytes_per_s": None if name == "recomputed" else prefix_bytes / prefix_s,
                    "times_faster": base / first,
                }
            )
        prefill_s = statistics.median(times["recomputed"]["prefix"])
        print("Worth: %s, torch %s, %d tokens of prefix (%.2f GB), %d of the fork's own, %d rounds, medians" % (
            device, torch.__version__, shape.prefix, prefix_bytes / 1e9, shape.fork, arguments.rounds))
        for row in rows:
            rate = "" if row["bytes_per_s"] is None else "%6.2f GB/s" % (row["bytes_per_s"] / 1e9)
            print("  prefix %-20s first token after %8.1f ms (%.1f-%.1f) %5.2fx  %s" % (
                row["way"], 1e3 * row["first_token_s"], 1e3 * row["min_s"], 1e3 * row["max_s"], row["times_faster"], rate))
        print("  break-even: %.0f tokens/s of prefill, a fetch wins above %.2f GB/s" % (
            shape.prefix / prefill_s, prefix_bytes / prefill_s / 1e9))
        document = {
            "device": device,
            "torch": torch.__version__,
            "prefix_tokens": shape.prefix,
            "prefix_bytes": prefix_bytes,
            "fork_tokens": shape.fork,
            "clients": arguments.clients,
            "store_s": store_s,
            "prefill_tokens_per_s": shape.prefix / prefill_s,
            "break_even_bytes_per_s": prefix_bytes / prefill_s,
            "same_answer": len(answers) == 1,
            "rows": rows,
        }
        if arguments.json:
            with open(arguments.json, "w") as out:
                json.dump(document, out, indent=2)
                out.write("\n")
        else:
            print(json.dumps(document))
        return 0
    finally:
        node.kill()
        node.wait()


if __name__ == "__main__":
    sys.exit(main())
