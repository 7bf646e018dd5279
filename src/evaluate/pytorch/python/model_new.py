# The process of a ModelNew candidate. Inputs, parameters and outputs are in memory shared with the judge; expected
# outputs are never in this process. The candidate shares the interpreter with the timer, so the judge compares with its
# own clock.


def candidate_fault(error, path):
    """Why the candidate could not be loaded or run."""
    text, line = words_of(error), line_in(error, path)
    if is_out_of_memory(error):
        return Fault("out_of_memory", text, line)
    return Fault("crash", text, line)


def load_candidate(torch, source):
    """Its module: a real file, because Triton and inspect read it."""
    import importlib.util

    folder = os.path.join(SCRATCH, "candidate")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model_new.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    spec = importlib.util.spec_from_file_location("model_new", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["model_new"] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        if is_out_of_memory(error):
            raise candidate_fault(error, path) from None
        raise Fault("compile_error", words_of(error), line_in(error, path)) from None
    if not callable(getattr(module, "ModelNew", None)):
        raise Fault("rejected", "the file defines no class ModelNew")
    return module, path


def match_parameters(torch, model, names, tensors):
    """Copies the reference's parameters; returns how they were matched."""
    own = list(model.named_parameters()) + list(model.named_buffers())
    given = dict(zip(names, tensors))
    with torch.no_grad():
        if not own:
            return "none"
        if all(n in given and given[n].shape == t.shape for n, t in own):
            for name, tensor in own:
                tensor.copy_(given[name])
            return "name"
        if [tuple(t.shape) for _, t in own] == [tuple(t.shape) for t in tensors]:
            for (_, tensor), value in zip(own, tensors):
                tensor.copy_(value)
            return "order"
    missing = [f"{n}{list(t.shape)}" for n, t in own if n not in given or given[n].shape != t.shape]
    known = [f"{n}{list(t.shape)}" for n, t in given.items()]
    text = "ModelNew's parameters match those of Model neither by name nor by order and shape: "
    raise Fault("rejected", text + f"{', '.join(missing[:8])} against {', '.join(known[:8]) or 'none'}")


class Candidate:
    def __init__(self, torch):
        # Bound before the candidate is imported: its replacements are not called.
        self.torch = torch
        self.clock = time.perf_counter_ns
        self.tensor_type = torch.Tensor

    # open: imports the candidate, which may compile.
    def open(self, wire, request, descriptors):
        torch = self.torch
        self.device = request["device"]
        if self.device == "cpu":
            torch.set_num_threads(request["threads"])
        else:
            torch.cuda.set_device(torch.device(self.device))
        self.synchronize = synchronizer(torch, self.device)
        self.problem = request["file"]
        problem = load_problem(self.problem, request["overrides"])

        def ask_for_header(extra, with_cuda):
            wire.send({"want": "header", "extra": extra, "cuda": with_cuda})
            wire.receive()

        fast = FastExtensions(torch, self.device, request["headers"], request["kept"], ask_for_header)
        if "cpp_extension" in request["source"] or "load_inline" in request["source"]:
            fast.install()  # importing torch's builder takes a while
        self.module, self.path = load_candidate(torch, request["source"])
        seed_all(torch, request["seed"])
        arguments = []
        if hasattr(problem, "get_init_inputs"):
            arguments = problem_call(self.problem, problem.get_init_inputs)
        seed_all(torch, request["seed"])
        try:
            self.model = self.module.ModelNew(*arguments)
            if not isinstance(self.model, torch.nn.Module):
                raise Fault("rejected", "ModelNew is no torch.nn.Module")
            self.model = self.model.to(self.device)
        except Fault:
            raise
        except (Exception, SystemExit) as error:
            raise candidate_fault(error, self.path) from None
        libraries = [os.open(path, os.O_RDONLY | os.O_CLOEXEC) for _, path in fast.built]
        answer = {"built": [key for key, _ in fast.built], "notes": fast.notes}
        return answer, libraries

    # layout: the memory of inputs with parameters, and that of outputs. It stays the same, so that
    # an address has other contents at the next call.
    def layout(self, wire, request, descriptors):
        torch = self.torch
        given, self.results = request["given"], request["outputs"]
        self.shared = self.views(given, descriptors[0])
        self.into = self.views(self.results, descriptors[1])
        count = request["inputs"]
        self.sources = self.shared[:count]
        self.inputs = [t.to(self.device) for t in self.sources]
        tensors = iter(self.inputs)
        self.arguments = [next(tensors) if "tensor" in a else a["value"] for a in request["arguments"]]
        parameters = [t.to(self.device) for t in self.shared[count:]]
        matched = match_parameters(torch, self.model, request["parameters"], parameters)
        return {"matched": matched}, ()

    def views(self, tensors, descriptor):
        torch = self.torch
        dtypes = [torch_dtype(torch, t["dtype"]) for t in tensors]
        memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        return [view_of(torch, memory, t["offset"], d, t["shape"]) for t, d in zip(tensors, dtypes)]

    # load, give_back: on a GPU, copies of the shared memory to the device and back.
    def load(self, wire, request, descriptors):
        for tensor, source in zip(self.inputs, self.sources):
            tensor.copy_(source)
        self.synchronize()
        return {}, ()

    def give_back(self, wire, request, descriptors):
        for tensor, source in zip(self.inputs, self.sources):
            source.copy_(tensor)
        return {}, ()

    # go: one call. Its results are copied after the time stamp.
    def go(self, wire, request, descriptors):
        torch, clock, synchronize = self.torch, self.clock, self.synchronize
        try:
            with torch.no_grad():
                synchronize()
                start = clock()
                result = self.model(*self.arguments)
                synchronize()
                took = clock() - start
                self.copy_out(result)
                whole = clock() - start
        except Fault:
            raise
        except (Exception, SystemExit) as error:
            raise candidate_fault(error, self.path) from None
        return {"ns": took, "whole_ns": whole}, ()

    def copy_out(self, result):
        values = list(result) if type(result) in (tuple, list) else [result]
        if len(values) != len(self.into):
            raise Fault("wrong", f"forward() returns {len(values)} values, Model's returns {len(self.into)}")
        for i, (value, into) in enumerate(zip(values, self.into)):
            if type(value) is not self.tensor_type:
                text = f"forward() returns a {type(value).__name__} as out{i}; it must be a torch.Tensor, nothing derived from it"
                raise Fault("rejected", text)
            if tuple(value.shape) != tuple(into.shape):
                raise Fault("wrong", f"out{i} has the shape {list(value.shape)}, expected is {list(into.shape)}")
            name = dtype_names(self.torch).get(value.dtype, str(value.dtype))
            if name != self.results[i]["dtype"]:
                raise Fault("wrong", f"out{i} is of {name}, expected is {self.results[i]['dtype']}")
            into.copy_(value)


def start_candidate():
    state = {}

    def torch_of():
        if "torch" not in state:
            state["torch"] = import_torch()
        return state["torch"]

    def candidate_do(what):
        def handle(wire, request, descriptors):
            if "candidate" not in state:
                state["candidate"] = Candidate(torch_of())
            return getattr(state["candidate"], what)(wire, request, descriptors)

        return handle

    def header(wire, request, descriptors):
        key, descriptor = make_header(torch_of(), request["extra"], request["cuda"])
        return {"key": key}, (descriptor,)

    handlers = {what: candidate_do(what) for what in ("open", "layout", "load", "go", "give_back")}
    handlers["header"] = header
    serve(handlers)


start_candidate()
