# What both Python processes share: messages on descriptor 3 (as runtime/message_socket.h frames
# them), tensors in shared memory, and loading a problem file. It is put before reference.py or
# model_new.py; the judge passes the whole to `python3 -I -c`.
import ast
import array
import builtins
import copy
import ctypes
import hashlib
import inspect
import json
import linecache
import mmap
import os
import random
import re
import socket
import struct
import sys
import time
import traceback

MAX_BODY = 16 << 20
ALIGNMENT = 64
SCRATCH = os.environ.get("TMPDIR", "/tmp")


class Wire:
    """Length-framed JSON with descriptors; see message_socket.h."""

    def __init__(self, descriptor):
        self.socket = socket.socket(fileno=descriptor)
        self.buffered = b""
        self.descriptors = []

    def fill(self, size):
        while len(self.buffered) < size:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 250)
            if not data:
                os._exit(0)  # the judge is gone, and no process may outlive it
            self.buffered += data
            self.descriptors += descriptors

    def receive(self):
        self.fill(8)
        size, count = struct.unpack("=II", self.buffered[:8])
        if size > MAX_BODY:
            os._exit(1)
        self.fill(8 + size)
        body, self.buffered = self.buffered[8 : 8 + size], self.buffered[8 + size :]
        mine, self.descriptors = self.descriptors[:count], self.descriptors[count:]
        return json.loads(body), mine

    def send(self, message, descriptors=()):
        body = json.dumps(message).encode()
        if len(body) > MAX_BODY:
            body = json.dumps({"error": "bad_task", "text": "the answer is too long"}).encode()
            descriptors = ()
        frame = struct.pack("=II", len(body), len(descriptors)) + body
        rights = []
        if descriptors:
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
        sent = self.socket.sendmsg([frame], rights)
        self.socket.sendall(frame[sent:])


class Fault(Exception):
    """An error for the judge: a kind, a text for people, and the line of the file that caused it."""

    def __init__(self, kind, text, line=0):
        super().__init__(text)
        self.answer = {"error": kind, "text": text[:4000], "line": line}


def line_in(error, path):
    """The last line of that file in the traceback; 0 if none."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return error.lineno or 0
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return lines[-1] if lines else 0


def text_of(error):
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg}"
    return f"{type(error).__name__}: {error}".strip()


def is_out_of_memory(error):
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "allocate memory" in text


# The first torch with a name; for names that are not listed the advice is "a newer torch".
SINCE = {
    "scaled_dot_product_attention": "2.0",
    "compile": "2.0",
    "vmap": "2.0",
    "rms_norm": "2.4",
    "RMSNorm": "2.4",
    "attention": "2.3",
    "flex_attention": "2.5",
    "set_default_device": "2.0",
}


def lacking(error, path):
    """tool_missing if the error says that torch (or another module) lacks something, else None."""
    where = f"used by {os.path.basename(path)}:{line_in(error, path)}"
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("torch."):
        if error.name == "torch":
            return Fault("tool_missing", f"{sys.executable} has no module 'torch' ({where}); install torch")
        advice = "install it for this Python"
        return Fault("tool_missing", f"{sys.executable} has no module '{error.name}' ({where}); {advice}")
    name = None
    if isinstance(error, AttributeError):
        match = re.match(r"module '(torch[\w.]*)' has no attribute '(\w+)'", str(error))
        name = f"{match[1]}.{match[2]}" if match else None
    elif isinstance(error, ImportError):
        match = re.match(r"cannot import name '(\w+)' from '(torch[\w.]*)'", str(error))
        name = f"{match[2]}.{match[1]}" if match else None
        if isinstance(error, ModuleNotFoundError):
            name = error.name
    if name is None:
        return None
    import torch

    since = SINCE.get(name.split(".")[-1])
    wanted = f"torch >= {since}" if since else "a newer torch"
    version = torch.__version__.split("+")[0]
    return Fault(
        "tool_missing",
        f"torch {version} of {sys.executable} has no {name} ({where}); install {wanted} and name its python "
        "in specgen.toml [tools] python",
    )


class Override(ast.NodeTransformer):
    """Replaces constants at the top of a module."""

    def __init__(self, values):
        self.values = values
        self.replaced = set()

    def visit_Assign(self, node):
        names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        wanted = [n for n in names if n in self.values]
        if wanted and len(node.targets) == 1:
            self.replaced.add(wanted[0])
            node.value = ast.copy_location(ast.Constant(self.values[wanted[0]]), node.value)
        return node

    def visit_AnnAssign(self, node):
        if isinstance(node.target, ast.Name) and node.target.id in self.values and node.value:
            self.replaced.add(node.target.id)
            node.value = ast.copy_location(ast.Constant(self.values[node.target.id]), node.value)
        return node

    def visit_FunctionDef(self, node):
        return node  # only the top level

    visit_AsyncFunctionDef = visit_ClassDef = visit_FunctionDef


def blame(error, path):
    """A Fault for an error of the problem file."""
    if isinstance(error, Fault):
        return error
    fault = lacking(error, path)
    if fault:
        return fault
    if is_out_of_memory(error):
        text = f"{os.path.basename(path)} needs more memory than there is; make it smaller with --shape NAME=N"
        return Fault("bad_task", text)
    line = line_in(error, path)
    return Fault("bad_task", f"{os.path.basename(path)}:{line}: {text_of(error)}", line)


def load_problem(path, overrides):
    """The module, executed with overridden constants."""
    name = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
        tree = ast.parse(source, path)
        override = Override(overrides)
        tree = ast.fix_missing_locations(override.visit(tree))
        for wanted in overrides:
            if wanted not in override.replaced:
                targets = [t for n in tree.body if isinstance(n, ast.Assign) for t in n.targets]
                known = ", ".join(t.id for t in targets if isinstance(t, ast.Name)) or "none"
                text = f"{name}: it has no constant '{wanted}' at its top; its constants are: {known}"
                raise Fault("bad_task", text)
        module = type(sys)("problem")
        module.__file__ = path
        sys.modules["problem"] = module
        exec(compile(tree, path, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise blame(error, path) from None
    for wanted in ("Model", "get_inputs"):
        if not callable(getattr(module, wanted, None)):
            raise Fault("bad_task", f"{name}: it does not define {wanted}")
    return module


def problem_call(path, function, *arguments):
    try:
        return function(*arguments)
    except (Exception, SystemExit) as error:
        raise blame(error, path) from None


def seed_all(torch, seed):
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))


def dtype_names(torch):
    names = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
    names.update({"int64": "i64", "int32": "i32", "uint8": "u8", "bool": "u8"})
    return {getattr(torch, t): n for t, n in names.items()}


def torch_dtype(torch, name):
    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
    names.update({"i64": "int64", "i32": "int32", "u8": "uint8"})
    return getattr(torch, names[name])


def tensor_bytes(tensor):
    return tensor.numel() * tensor.element_size()


def as_plain(torch, tensor):
    """Dense, without gradient, bool as bytes."""
    tensor = tensor.detach()
    return (tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor).contiguous()


def offsets_of(sizes):
    offsets, end = [], 0
    for size in sizes:
        offsets.append(end)
        end += -(-size // ALIGNMENT) * ALIGNMENT
    return offsets, max(end, ALIGNMENT)


def view_of(torch, memory, offset, dtype, shape):
    count = 1
    for length in shape:
        count *= length
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(shape)


def into_memory(torch, tensors):
    """A descriptor of memory with the tensors, one after the other."""
    tensors = [as_plain(torch, t) for t in tensors]
    offsets, size = offsets_of([tensor_bytes(t) for t in tensors])
    descriptor = os.memfd_create("tensors", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, size)
    with_memory = mmap.mmap(descriptor, size)
    for tensor, offset in zip(tensors, offsets):
        view_of(torch, with_memory, offset, tensor.dtype, tensor.shape).copy_(tensor)
    return descriptor


def synchronizer(torch, device):
    if device == "cpu":
        return lambda: None
    return lambda call=torch.cuda.synchronize, at=torch.device(device): call(at)


def output_list(torch, path, value, line_of=None):
    """forward()'s result as a list of tensors."""
    values = list(value) if isinstance(value, (tuple, list)) else [value]
    for one in values:
        if not isinstance(one, torch.Tensor):
            name = os.path.basename(path)
            text = f"{name}: forward() returns a {type(one).__name__} where a tensor is expected"
            raise Fault("bad_task", text)
    return values


def import_torch():
    try:
        import torch
    except Exception as error:
        raise Fault("tool_missing", f"{sys.executable} cannot import torch: {text_of(error)}")
    return torch


def serve(handlers):
    """Answers requests until the judge closes its end."""
    wire = Wire(3)
    while True:
        request, descriptors = wire.receive()
        try:
            answer, given = handlers[request["do"]](wire, request, descriptors)
        except Fault as fault:
            answer, given = fault.answer, ()
        except BaseException as error:
            answer = {"error": "harness_failed", "text": traceback.format_exc()[-2000:], "line": 0}
            given = ()
            if is_out_of_memory(error):
                answer["error"] = "out_of_memory"
        wire.send(answer, given)
        for descriptor in list(given) + descriptors:
            os.close(descriptor)
        del request, descriptors, answer, given
