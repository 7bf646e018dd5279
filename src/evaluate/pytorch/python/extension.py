# A fast load_inline for the process of a ModelNew candidate: torch/extension.h comes from a precompiled header that the
# judge caches (made in a sandbox without a candidate), libraries that this candidate has built before come from the
# judge's cache, and nothing is compiled for other GPUs.

# Flags for which a precompiled header may be made; with any other flag there is none.
PLAIN_FLAG = re.compile(
    r"-O[0-3]|-Ofast|-std=(c|gnu)\+\+(14|17|20|23)|-march=native|-mtune=native|-mavx2|-mavx512f|-mfma"
    r"|-fopenmp|-ffast-math|-funroll-loops|-fPIC|-w|-Wall|-g0|-fno-math-errno"
)
HEADER = "specgen_torch.h"

# torch/extension.h without torch::nn, optimisers and the like, which kernels do not need: a
# third of the time. If a source needs more, it is compiled with the full header.
SLIM_CPP = """#pragma once
#include <torch/types.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
"""
NEEDS_ALL = re.compile(r"torch::(nn|jit|autograd|optim|data|serialize|save|load|fft|linalg)\b|torch/csrc/")
# Messages of g++ and nvcc about an unknown name of torch.
LACKS_NAMES = re.compile(
    r"not a member of .(torch|at|c10)|.(torch|at|c10)(::\w+)*. has not been declared|incomplete type"
    r"|namespace .(torch|at|c10)[\w:]*. has no member|cannot open source file|No such file"
)


def write_headers(folder, text):
    """The header, and empty files for those of torch that it replaces."""
    os.makedirs(os.path.join(folder, "torch"), exist_ok=True)
    with open(os.path.join(folder, HEADER), "w") as file:
        file.write(text)
    for name in ("extension.h", "torch.h", "all.h"):
        with open(os.path.join(folder, "torch", name), "w") as file:
            file.write("#pragma once\n")


def paths_of(function, with_cuda):
    """Torch's paths. The parameter was a flag once and is a kind of device now: "cuda" works for both."""
    return function("cuda") if with_cuda else function()


def extension_flags(torch, with_cuda):
    """Torch's flags for an extension: its version decides the C++ standard."""
    import sysconfig

    from torch.utils import cpp_extension

    major = int(torch.__version__.split(".")[0])
    flags = ["-fPIC", "-std=c++17" if major >= 2 else "-std=c++14"]
    flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}")
    flags.append("-DTORCH_API_INCLUDE_EXTENSION_H")
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{name}", None)
        if value is not None:
            flags.append(f'-DPYBIND11_{name}="{value}"')
    paths = paths_of(cpp_extension.include_paths, with_cuda)
    for path in paths + [sysconfig.get_path("include", scheme="posix_prefix")]:
        flags += ["-isystem", path]
    return flags


def compiler():
    return os.environ.get("CXX", "c++")


def header_key(torch, flags):
    import subprocess

    version = subprocess.run([compiler(), "--version"], capture_output=True, text=True).stdout
    text = json.dumps([torch.__version__, sys.version, version, flags])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def compiler_flags(torch, extra, with_cuda):
    """Flags of the C++ part. With CUDA it is only glue: -O1 is enough."""
    extra = [f for f in extra if not (with_cuda and f.startswith("-O"))]
    if with_cuda or not any(f.startswith("-O") for f in extra):
        extra.append("-O1")
    own = extension_flags(torch, with_cuda)
    if any(f.startswith("-std=") for f in extra):
        own = [f for f in own if not f.startswith("-std=")]
    return own + extra


def run_compiler(command, folder):
    import subprocess

    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"Error building extension: {' '.join(command[:1])}\n{done.stderr[-3000:]}")


def make_header(torch, extra, with_cuda):
    """The precompiled header as an open file; runs in a process without a candidate."""
    flags = compiler_flags(torch, extra, with_cuda)
    folder = os.path.join(SCRATCH, "header-" + header_key(torch, flags))
    write_headers(folder, SLIM_CPP)
    made = os.path.join(folder, HEADER + ".gch")
    run_compiler([compiler(), "-x", "c++-header", *flags, HEADER, "-o", made], folder)
    descriptor = os.open(made, os.O_RDONLY | os.O_CLOEXEC)
    os.unlink(made)
    return header_key(torch, flags), descriptor


class FastExtensions:
    def __init__(self, torch, device, headers, kept, ask_for_header):
        self.torch = torch
        self.device = device
        self.headers = headers  # the judge's folder of precompiled headers, read-only
        self.kept = kept  # and of libraries built from this candidate before
        self.ask_for_header = ask_for_header
        self.built = []  # (key, path) of libraries that the judge may cache
        self.notes = []

    def install(self):
        from torch.utils import cpp_extension

        self.original = cpp_extension.load_inline
        cpp_extension.load_inline = self.load_inline
        os.environ.setdefault("TORCH_EXTENSIONS_DIR", os.path.join(SCRATCH, "torch_extensions"))
        os.environ.setdefault("MAX_JOBS", str(os.cpu_count() or 1))
        if self.device != "cpu":
            major, minor = self.torch.cuda.get_device_capability(self.device)
            suffix = "a" if major >= 9 else ""
            os.environ["TORCH_CUDA_ARCH_LIST"] = f"{major}.{minor}{suffix}"

    def load_inline(self, name, cpp_sources, cuda_sources=None, functions=None, extra_cflags=None,
                    extra_cuda_cflags=None, extra_ldflags=None, extra_include_paths=None,
                    build_directory=None, verbose=False, with_cuda=None, is_python_module=True,
                    with_pytorch_error_handling=True, keep_intermediates=True, use_pch=False,
                    **others):
        def as_list(value):
            return [value] if isinstance(value, str) else list(value or [])

        cpp_sources, cuda_sources = as_list(cpp_sources), as_list(cuda_sources)
        if others or not is_python_module:  # rarely used: torch's own implementation, slow but correct
            self.notes.append("load_inline with rare arguments: built by torch itself")
            return self.original(name, cpp_sources, cuda_sources, functions, extra_cflags,
                                 extra_cuda_cflags, extra_ldflags, extra_include_paths,
                                 build_directory, verbose, with_cuda, is_python_module, **others)
        with_cuda = bool(cuda_sources) if with_cuda is None else with_cuda
        flags = compiler_flags(self.torch, as_list(extra_cflags), with_cuda)
        for path in as_list(extra_include_paths):
            flags += ["-I", path]
        recipe = [name, cpp_sources, cuda_sources, functions, flags, as_list(extra_cuda_cflags),
                  as_list(extra_ldflags), os.environ.get("TORCH_CUDA_ARCH_LIST", ""),
                  self.torch.__version__, with_pytorch_error_handling]
        key = hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:32]
        library = os.path.join(self.kept, key + ".so")
        if not os.path.exists(library):
            library = self.build(key, name, cpp_sources, cuda_sources, functions, flags,
                                 as_list(extra_cflags), as_list(extra_cuda_cflags),
                                 as_list(extra_ldflags), with_cuda, with_pytorch_error_handling)
            self.built.append((key, library))
        return self.load(name, library)

    def load(self, name, library):
        import importlib.machinery
        import importlib.util

        loader = importlib.machinery.ExtensionFileLoader(name, library)
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
        loader.exec_module(module)
        return module

    def build(self, key, name, cpp_sources, cuda_sources, functions, flags, extra, extra_cuda,
              extra_link, with_cuda, error_handling):
        import concurrent.futures

        folder = os.path.join(SCRATCH, "extension-" + key)
        os.makedirs(folder, exist_ok=True)
        glue = self.bindings(functions, error_handling)
        text = "\n".join(cpp_sources) + "\n" + glue
        compiled = ["main.o"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(self.compile_cpp, folder, name, text, flags, extra, with_cuda)]
            if cuda_sources:
                jobs.append(pool.submit(self.compile_cuda, folder, name, cuda_sources, flags,
                                        extra_cuda))
                compiled.append("cuda.o")
            for job in jobs:
                job.result()
        self.link(folder, compiled, extra_link, with_cuda)
        return os.path.join(folder, "extension.so")

    def compile_cpp(self, folder, name, text, flags, extra, with_cuda):
        def write(first):
            # The header first, with nothing defined before it: otherwise the precompiled one is not used.
            with open(os.path.join(folder, "main.cpp"), "w") as file:
                file.write(f"#include {first}\n#define TORCH_EXTENSION_NAME {name}\n{text}")

        command = [*flags, "-c", "main.cpp", "-o", "main.o"]
        if not NEEDS_ALL.search(text):
            include = self.header_folder(flags, extra, with_cuda)
            if include is None:
                include = os.path.join(folder, "headers")
                write_headers(include, SLIM_CPP)
            write(f'"{HEADER}"')
            try:
                return run_compiler([compiler(), "-I", include, *command], folder)
            except RuntimeError as error:
                if not LACKS_NAMES.search(str(error).partition("\n")[2]):
                    raise
        self.notes.append("C++ part built with all of torch's headers")
        write("<torch/extension.h>")
        return run_compiler([compiler(), *command], folder)

    def bindings(self, functions, error_handling):
        if functions is None:
            return ""
        named = functions
        if isinstance(functions, str):
            named = {functions: functions}
        elif not isinstance(functions, dict):
            named = {f: f for f in functions}
        lines = ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
        for function, text in named.items():
            target = f"torch::wrap_pybind_function({function})" if error_handling else function
            lines.append(f'm.def("{function}", {target}, {json.dumps(text)});')
        return "\n".join(lines + ["}\n"])

    def header_folder(self, flags, extra, with_cuda):
        """The path of the precompiled header for these flags; None if there is none."""
        if not all(PLAIN_FLAG.fullmatch(f) for f in extra) or "-I" in flags:
            self.notes.append("built without a precompiled header: unusual flags")
            return None
        folder = os.path.join(self.headers, header_key(self.torch, flags))
        if not os.path.exists(os.path.join(folder, HEADER + ".gch")):
            self.ask_for_header(extra, with_cuda)
        if os.path.exists(os.path.join(folder, HEADER + ".gch")):
            return folder
        self.notes.append("built without a precompiled header")
        return None

    def compile_cuda(self, folder, name, sources, flags, extra):
        from torch.utils import cpp_extension

        nvcc = os.path.join(cpp_extension.CUDA_HOME or "/usr/local/cuda", "bin", "nvcc")
        includes = [f for f in flags if f.startswith("-D_GLIBCXX")]
        for flag, path in zip(flags, flags[1:]):
            if flag in ("-isystem", "-I"):
                includes += [flag, path]
        dialect = [f for f in flags if f.startswith("-std=")]
        if any(f.startswith(("-std", "--std")) for f in extra):
            dialect = []
        arch = os.environ["TORCH_CUDA_ARCH_LIST"].replace(".", "")
        # Torch switches off NVIDIA's operators on __half and similar types; so does this.
        common = list(getattr(cpp_extension, "COMMON_NVCC_FLAGS", []))
        base = [nvcc, *common, *dialect, "--compiler-options", "-fPIC", "-O3",
                f"-gencode=arch=compute_{arch},code=sm_{arch}", *includes, *extra]
        text = "\n".join(sources)
        head = f"#define TORCH_EXTENSION_NAME {name}\n"
        slim = os.path.join(folder, "slim", "torch")
        os.makedirs(slim, exist_ok=True)
        for header in ("extension.h", "types.h", "all.h", "torch.h"):
            with open(os.path.join(slim, header), "w") as file:
                file.write(SLIM_HEADER)
        with open(os.path.join(folder, "cuda.cu"), "w") as file:
            file.write(head + "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n" + text)
        command = ["-c", "cuda.cu", "-o", "cuda.o"]
        try:
            run_compiler([*base, "-I", os.path.join(folder, "slim"), *command], folder)
        except RuntimeError as error:  # it may use more of torch than the slim header has
            if not LACKS_NAMES.search(str(error).partition("\n")[2]):
                raise
            self.notes.append("CUDA part built with all of torch's headers")
            run_compiler([*base, *command], folder)

    def link(self, folder, compiled, extra, with_cuda):
        from torch.utils import cpp_extension

        paths = paths_of(cpp_extension.library_paths, with_cuda)
        libraries = ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
        if with_cuda:
            libraries = ["-lc10_cuda", "-ltorch_cuda", "-lcudart", *libraries]
        command = [compiler(), *compiled, "-shared", *[f"-L{p}" for p in paths], *libraries, *extra]
        run_compiler([*command, "-o", "extension.so"], folder)


# The part of torch that kernels' host code uses, without the other five thousand headers.
SLIM_HEADER = """#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <c10/util/Exception.h>
#include <optional>
#include <string>
#include <tuple>
#include <vector>
namespace torch {
using namespace at;
constexpr auto kFloat = at::kFloat;
using Dtype = at::ScalarType;
constexpr auto kFloat64 = at::kDouble;
constexpr auto kFloat32 = at::kFloat;
constexpr auto kFloat16 = at::kHalf;
constexpr auto kBFloat16 = at::kBFloat16;
constexpr auto kInt64 = at::kLong;
constexpr auto kInt32 = at::kInt;
constexpr auto kUInt8 = at::kByte;
constexpr auto kInt8 = at::kChar;
}
"""
