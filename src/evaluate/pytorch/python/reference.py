# The reference process of a PyTorch task: it has Model, makes inputs, parameters and expected outputs, and times the
# eager module. No candidate ever runs in it.


class Cuda:
    """Device memory that the judge exported, mapped with the driver's API by ctypes."""

    class Location(ctypes.Structure):
        _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]

    class Access(ctypes.Structure):
        pass

    def __init__(self, ordinal):
        self.ordinal = ordinal
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.Access._fields_ = [("location", Cuda.Location), ("flags", ctypes.c_int)]

    def call(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code != 0:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(ctypes.c_int(code), ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()} ({code})")

    def open(self, descriptor, size):
        """Address and handle; `size` is that of the allocation."""
        handle = ctypes.c_ulonglong()
        posix_descriptor = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        self.call(
            "cuMemImportFromShareableHandle",
            ctypes.byref(handle),
            ctypes.c_void_p(descriptor),
            ctypes.c_int(posix_descriptor),
        )
        address = ctypes.c_ulonglong()
        length = ctypes.c_size_t(size)
        zero = ctypes.c_size_t(0)
        no_flags = ctypes.c_ulonglong(0)
        try:
            self.call("cuMemAddressReserve", ctypes.byref(address), length, zero, no_flags, no_flags)
            self.call("cuMemMap", address, length, zero, handle, no_flags)
            access = self.Access()
            access.location.type = 1  # CU_MEM_LOCATION_TYPE_DEVICE
            access.location.id = self.ordinal
            access.flags = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE
            self.call("cuMemSetAccess", address, length, ctypes.byref(access), ctypes.c_size_t(1))
        except RuntimeError:
            self.driver.cuMemRelease(handle)
            raise
        return address, handle

    def close(self, address, handle, size):
        self.call("cuMemUnmap", address, ctypes.c_size_t(size))
        self.call("cuMemAddressFree", address, ctypes.c_size_t(size))
        self.call("cuMemRelease", handle)


class DeviceBytes:
    """Raw device memory, as torch.as_tensor understands it."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
            "strides": None,
        }


class Reference:
    def __init__(self):
        self.torch = None
        self.drawn = None  # seed and inputs of the last draw
        self.queueing_s = None  # the shortest host time of a call of the module, on a GPU

    # describe: loads the problem and runs it once.
    def describe(self, wire, request, descriptors):
        self.torch = torch = import_torch()
        self.path = request["file"]
        self.device = request["device"]
        if self.device != "cpu" and not torch.cuda.is_available():
            text = f"torch {torch.__version__} of {sys.executable} sees no GPU; install a torch that is built for CUDA"
            raise Fault("tool_missing", text)
        self.synchronize = synchronizer(torch, self.device)
        if self.device != "cpu":
            torch.cuda.set_device(torch.device(self.device))
        else:
            torch.set_num_threads(request["threads"])
        self.module = load_problem(self.path, request["overrides"])
        self.seed = request["seed"]
        self.model = self.make_model()
        inputs = self.inputs_of(self.seed)
        outputs = self.forward(self.model, inputs)
        again = self.forward(self.model, inputs)
        same = all(torch.equal(a, b) or self.both_nan(a, b) for a, b in zip(outputs, again))
        seed_all(torch, (self.seed + 1) % (1 << 63))
        other = self.forward(self.model, inputs)
        if any(not self.alike(a, b) for a, b in zip(outputs, other)):
            name = os.path.basename(self.path)
            text = f"{name}: forward() gives other results for the same inputs (dropout?); there is no single correct output"
            raise Fault("bad_task", text)
        self.double = self.make_double(inputs, outputs)
        names = self.argument_names(inputs)
        described = {
            "torch": torch.__version__,
            "arguments": [self.describe_tensor(n, x) for n, x in zip(names, inputs)],
            "parameters": [self.describe_tensor(n, t) for n, t in self.state],
            "outputs": [self.describe_tensor(f"out{i}", t) for i, t in enumerate(outputs)],
            "deterministic": same,
            "double": self.double is not None,
        }
        return described, ()

    def both_nan(self, a, b):
        return a.is_floating_point() and self.torch.equal(a.nan_to_num(), b.nan_to_num())

    def alike(self, a, b):
        """Equal up to rounding: atomics may change the order of a sum."""
        if not a.is_floating_point():
            return self.torch.equal(a, b)
        a, b = a.double().nan_to_num(), b.double().nan_to_num()
        scale = float(a.square().mean().sqrt()) + 1e-300
        return float((a - b).square().mean().sqrt()) <= 1e-2 * scale

    def is_tensor(self, value):
        return isinstance(value, self.torch.Tensor)

    def on_device(self):
        """The default device of new tensors; before torch 2.0 the CPU, then moved."""
        torch = self.torch
        if self.device != "cpu" and hasattr(torch.device, "__enter__"):
            return torch.device(self.device)
        import contextlib

        return contextlib.nullcontext()

    def moved(self, value):
        return value.to(self.device) if self.is_tensor(value) else value

    def make_model(self):
        seed_all(self.torch, self.seed)
        with self.on_device():
            arguments = []
            if hasattr(self.module, "get_init_inputs"):
                arguments = problem_call(self.path, self.module.get_init_inputs)
            if not isinstance(arguments, (list, tuple)):
                raise Fault("bad_task", f"{os.path.basename(self.path)}: get_init_inputs() does not return a list")
            model = problem_call(self.path, self.module.Model, *arguments)
        if not isinstance(model, self.torch.nn.Module):
            raise Fault("bad_task", f"{os.path.basename(self.path)}: Model is not a torch.nn.Module")
        model = model.to(self.device)
        # Copies: batch norms change their buffers at every call.
        state = list(model.named_parameters()) + list(model.named_buffers())
        self.state = [(name, tensor.detach().clone()) for name, tensor in state]
        return model

    def inputs_of(self, seed):
        if self.drawn and self.drawn[0] == seed:
            return self.drawn[1]
        self.drawn = None  # two sets of large inputs may not fit
        seed_all(self.torch, seed)
        with self.on_device():
            values = problem_call(self.path, self.module.get_inputs)
        name = os.path.basename(self.path)
        if not isinstance(values, (list, tuple)):
            raise Fault("bad_task", f"{name}: get_inputs() does not return a list")
        for value in values:
            if not self.is_tensor(value) and not isinstance(value, (int, float, bool, type(None))):
                text = f"{name}: get_inputs() returns a {type(value).__name__}; tensors and numbers are supported"
                raise Fault("bad_task", text)
        if not any(self.is_tensor(v) for v in values):
            raise Fault("bad_task", f"{name}: get_inputs() returns no tensor")
        self.drawn = (seed, [self.moved(v) for v in values])
        return self.drawn[1]

    def forward(self, model, inputs):
        """On copies: a module that works in place must not change the inputs of the next call."""
        with self.torch.no_grad():
            copies = [x.clone() if self.is_tensor(x) else x for x in inputs]
            result = problem_call(self.path, model, *copies)
            self.synchronize()
        return output_list(self.torch, self.path, result)

    def make_double(self, inputs, outputs):
        """The module in fp64, if it runs and returns doubles; else None."""
        torch = self.torch
        try:
            double = copy.deepcopy(self.model).double()
            values = self.forward(double, self.upcast(inputs))
            fits = [v.dtype == torch.float64 for v, o in zip(values, outputs) if o.is_floating_point()]
            shapes = [v.shape == o.shape for v, o in zip(values, outputs)]
            return double if all(fits) and all(shapes) and len(values) == len(outputs) else None
        except Exception:
            return None

    def upcast(self, inputs):
        return [x.double() if self.is_tensor(x) and x.is_floating_point() else x for x in inputs]

    def argument_names(self, inputs):
        try:
            signature = inspect.signature(self.model.forward)
            kinds = [p for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
        except (TypeError, ValueError):
            kinds = []
        names = []
        for parameter in kinds:
            if parameter.kind == parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}{i}" for i in range(len(inputs) - len(names))]
            else:
                names.append(parameter.name)
        names += [f"input{i}" for i in range(len(names), len(inputs))]
        return names[: len(inputs)]

    def describe_tensor(self, name, tensor):
        if not self.is_tensor(tensor):
            if isinstance(tensor, float) and tensor - tensor != 0:
                raise Fault("bad_task", f"{os.path.basename(self.path)}: input '{name}' is {tensor}")
            return {"name": name, "value": tensor}
        known = dtype_names(self.torch)
        if tensor.dtype not in known:
            text = f"{os.path.basename(self.path)}: '{name}' is of {tensor.dtype}; supported are {', '.join(sorted(set(known.values())))}"
            raise Fault("bad_task", text)
        return {"name": name, "dtype": known[tensor.dtype], "shape": list(tensor.shape)}

    def given_tensors(self, seed):
        inputs = [x for x in self.inputs_of(seed) if self.is_tensor(x)]
        return inputs + [t for _, t in self.state]

    # draw: fresh inputs, and the unchanged parameters.
    def draw(self, wire, request, descriptors):
        tensors = self.given_tensors(request["seed"])
        if "into" not in request:
            return {}, (into_memory(self.torch, tensors),)
        self.copy_to_exported(tensors[request["first"] :], descriptors, request["into"])
        return {}, ()

    def copy_to_exported(self, tensors, descriptors, places):
        """Copies each tensor to its place in exported memory."""
        torch = self.torch
        if not hasattr(self, "cuda"):
            self.cuda = Cuda(torch.device(self.device).index or 0)
        for tensor, descriptor, place in zip(tensors, descriptors, places):
            tensor = as_plain(torch, tensor)
            count, size, offset = tensor_bytes(tensor), place["bytes"], place["offset"]
            if offset + count > size:
                raise RuntimeError(f"{count} bytes do not go to {offset} of an allocation of {size}")
            if count == 0:
                continue
            address, handle = self.cuda.open(descriptor, size)
            try:
                into = torch.as_tensor(DeviceBytes(address.value + offset, count), device=self.device)
                into.copy_(tensor.reshape(-1).view(torch.uint8))
                self.synchronize()
                del into
            finally:
                self.cuda.close(address, handle, size)

    # expect: the correct outputs, in fp64 if the module can, and the module's own.
    def expect(self, wire, request, descriptors):
        torch = self.torch
        inputs = self.inputs_of(request["seed"])
        own = self.forward(self.model, inputs)
        exact = own
        if self.double is not None:
            exact = self.forward(self.double, self.upcast(inputs))
        # Integers are not rounded: the module's own output is correct.
        exact = [e if o.is_floating_point() else o for e, o in zip(exact, own)]
        doubles = [e.to(torch.float64) for e in exact]
        answer = {"double": self.double is not None, "rms": [self.rms(d) for d in doubles]}
        at = request["at"]
        given = (into_memory(torch, self.sampled(doubles, at)), into_memory(torch, self.sampled(own, at)))
        del own, exact, doubles
        self.give_back()
        return answer, given

    def give_back(self):
        """Frees torch's cached memory, which the candidates' tensors need."""
        if self.device != "cpu":
            self.torch.cuda.empty_cache()

    def rms(self, tensor):
        """Over finite elements, in pieces: copies of a large output may not fit."""
        squares, finite = 0.0, 0
        for piece in tensor.reshape(-1).split(1 << 26):
            piece = piece[self.torch.isfinite(piece)]
            squares += float(piece.square().sum())
            finite += piece.numel()
        return (squares / finite) ** 0.5 if finite else 0.0

    def sampled(self, tensors, places):
        """The elements at these indices; all of them if there are none."""
        torch = self.torch
        pick = lambda t, at: t.reshape(-1)[torch.tensor(at, dtype=torch.int64, device=t.device)]
        return [pick(t, at) if at else t for t, at in zip(tensors, places)]

    def echo(self, wire, request, descriptors):
        return {}, ()

    # time: one call of the eager module on these inputs, with its outputs.
    def time(self, wire, request, descriptors):
        inputs = [x.clone() if self.is_tensor(x) else x for x in self.inputs_of(request["seed"])]
        self.fill_caches(request.get("cold_bytes", 0))
        with self.torch.no_grad():
            self.synchronize()
            if "into" in request:  # beside a native candidate
                self.hold_device()
            clock = self.clock()
            queued = time.perf_counter()
            result = problem_call(self.path, self.model, *inputs)
            queued = time.perf_counter() - queued
            took = clock()
        self.queueing_s = min(queued, self.queueing_s or queued)
        outputs = output_list(self.torch, self.path, result)
        if "into" in request:
            self.copy_to_exported(outputs, descriptors, request["into"])
            return {"ns": took}, ()
        given = (into_memory(self.torch, outputs),) if request["outputs"] else ()
        return {"ns": took}, given

    def fill_caches(self, size):
        """Fills the caches with other data, so that the inputs come from memory, as for a candidate."""
        if size == 0:
            return
        if getattr(self, "other_things", None) is None or self.other_things.numel() < size:
            self.other_things = self.torch.empty(size, dtype=self.torch.uint8, device=self.device)
        self.other_things.add_(1)

    def hold_device(self):
        """Keeps a GPU busy until the call is queued, as a native candidate's launches are: of both only the GPU's work is
        timed. For the shortest host time of a call, because a module that waits for the GPU waits for this too."""
        if self.device == "cpu" or not self.queueing_s or not hasattr(self.torch.cuda, "_sleep"):
            return
        cycles_per_second, max_s = 2e9, 0.01
        self.torch.cuda._sleep(int(cycles_per_second * min(1.5 * self.queueing_s, max_s)))

    def clock(self):
        """Starts a clock; the result waits for all work and returns the ns, by the device's own clock if it has one."""
        torch = self.torch
        if self.device == "cpu":
            start = time.perf_counter_ns()
            return lambda: time.perf_counter_ns() - start
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()

        def stop():
            end.record()
            self.synchronize()
            return start.elapsed_time(end) * 1e6  # from ms

        return stop


reference = Reference()
serve({n: getattr(reference, n) for n in ("describe", "draw", "expect", "echo", "time")})
