// Winners of fake runs as drop-ins: what `specgen export` writes builds with plain tools and passes its own test.

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "runtime/subprocess.h"
#include "support/run_folder.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const std::string kTasks = SPECGEN_SOURCE_DIR "/tasks/";

std::string text_of(const fs::path& file) {
  return read_file(file).value();
}

class Export : public testing::Test {
 protected:
  Finished run(std::vector<std::string> argv, fs::path folder = {}) {
    RealDriver driver(1);
    Loop loop(driver);
    Processes processes(loop, driver);
    auto finished = loop.run(processes.run({.argv = std::move(argv),
                                            .folder = folder.empty() ? folder_.path() : folder,
                                            .output_limit = MiB(4),
                                            .time_limit = 200s}));
    EXPECT_TRUE(finished) << finished.error().text();
    return finished ? std::move(*finished) : Finished{};
  }

  // Writes the run and exports its winner; returns the folder of the files.
  fs::path exported(const std::string& title, const std::string& backend, std::string source,
                    const std::string& form, std::string evaluation = {}) {
    fs::path run_folder = folder_.path() / "run", out = folder_.path() / "out";
    FakeRun fake =
        run_won_by({title, kTasks + title, backend}, std::move(source), 1.5, std::move(evaluation));
    EXPECT_TRUE(write_run_folder(run_folder, fake));
    Finished finished =
        run({SPECGEN_BINARY, "export", run_folder.string(), "--as", form, "--out", out.string()});
    EXPECT_TRUE(finished.exit.ok()) << finished.error_output;
    return out;
  }

  void expect_make(const fs::path& folder, std::vector<std::string> targets, const char* output) {
    targets.insert(targets.begin(), {"make", "-j2"});
    Finished finished = run(targets, folder);
    EXPECT_TRUE(finished.exit.ok()) << finished.output << finished.error_output;
    EXPECT_TRUE(finished.output.contains(output)) << finished.output;
  }

  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

TEST_F(Export, a_cpu_winner_builds_and_passes_its_own_test) {
  fs::path out = exported("softmax", "cpu", text_of(kTasks + "softmax/baseline.cc"), "cpp");
  expect_make(out, {"test"}, "all cases are right");
}

TEST_F(Export, half_precision_finds_a_compiler_that_has_it) {
  fs::path out = exported("softmax:f16", "cpu", text_of(kTasks + "softmax/baseline.cc"), "cpp");
  expect_make(out, {"test"}, "all cases are right");
}

TEST_F(Export, a_wrong_kernel_fails_the_exported_test) {
  std::string source = text_of(kTasks + "softmax/baseline.cc");
  std::size_t at = source.find("1.0f / sum");
  ASSERT_NE(at, std::string::npos);
  fs::path out = exported("softmax", "cpu", source.replace(at, 10, "1.001f / sum"), "cpp");
  Finished finished = run({"make", "test"}, out);
  EXPECT_FALSE(finished.exit.ok());
  EXPECT_TRUE(finished.output.contains("FAILED")) << finished.output;
}

TEST_F(Export, scratch_barrier_scalars_and_tunables_are_carried_over) {
  // Two passes over scratch with a barrier between; BLOCK is a tunable that was tuned away from its default.
  fs::path out = exported("rms_norm", "cpu", R"(// specgen:scratch 8 * rows
// specgen:tune BLOCK = 8, 16
#include <cmath>
#if BLOCK != 16
#error the value that won is 16
#endif
using T = SPECGEN_DTYPE;
extern "C" void rms_norm(const T* x, const T* weight, T* y, int64_t rows, int64_t cols, double eps, void* scratch,
                         int tid, int nthreads) {
  double* factor = static_cast<double*>(scratch);
  for (int64_t row = tid; row < rows; row += nthreads) {
    double sum = 0;
    for (int64_t j = 0; j < cols; ++j) sum += double(x[row * cols + j]) * double(x[row * cols + j]);
    factor[row] = 1 / std::sqrt(sum / double(cols) + eps);
  }
  specgen_barrier();
  // Each thread takes rows that another one has prepared.
  for (int64_t row = nthreads - 1 - tid; row < rows; row += nthreads) {
    for (int64_t j = 0; j < cols; ++j) {
      y[row * cols + j] = T(double(x[row * cols + j]) * factor[row] * double(weight[j]));
    }
  }
}
)",
                          "cpp", R"({"device": "cpu:0", "tunables": {"BLOCK": 16}})");
  expect_make(out, {"test"}, "all cases are right");
}

TEST_F(Export, a_torch_module_builds_its_library_and_agrees_with_the_reference) {
  std::string python;
  for (const char* each : {"python3", "/usr/bin/python3"}) {
    if (python.empty() && run({each, "-c", "import torch"}).exit.ok()) python = each;
  }
  if (python.empty()) GTEST_SKIP() << "there is no PyTorch";
  fs::path out = exported("rms_norm", "cpu", text_of(kTasks + "rms_norm/baseline.cc"), "torch");
  Finished finished = run({python, "test_rms_norm.py"}, out);
  EXPECT_TRUE(finished.exit.ok()) << finished.output << finished.error_output;
  EXPECT_TRUE(finished.output.contains("all cases are right")) << finished.output;
}

TEST_F(Export, a_python_winner_is_exported_unchanged_with_a_test) {
  fs::path problem = folder_.path() / "relu.py", run_folder = folder_.path() / "run";
  std::string module =
      "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return "
      "x.clamp(min=0)\n";
  ASSERT_TRUE(
      write_file_durably(problem,
                         "import torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n"
                         "        return torch.relu(x)\n"
                         "def get_inputs():\n    return [torch.randn(8, 8)]\n"
                         "def get_init_inputs():\n    return []\n"));
  ASSERT_TRUE(write_run_folder(run_folder, run_won_by({"relu", problem.string(), "cpu"}, module)));
  fs::path out = folder_.path() / "out";
  EXPECT_EQ(
      run({SPECGEN_BINARY, "export", run_folder.string(), "--as", "cpp", "--out", out.string()})
          .exit.code,
      2);
  Finished finished =
      run({SPECGEN_BINARY, "export", run_folder.string(), "--as", "torch", "--out", out.string()});
  ASSERT_TRUE(finished.exit.ok()) << finished.error_output;
  EXPECT_EQ(text_of(out / "model_new.py"), module);
  if (!run({"/usr/bin/python3", "-c", "import torch"}).exit.ok())
    GTEST_SKIP() << "there is no PyTorch";
  finished = run({"/usr/bin/python3", "test_model_new.py"}, out);
  EXPECT_TRUE(finished.exit.ok()) << finished.output << finished.error_output;
}

// A parameter, a number beside the tensor, and a shape that the kernel was not judged on.
constexpr std::string_view kScaledModule = R"(import torch
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width))
    def forward(self, x, factor):
        return x * self.weight * factor
def get_inputs():
    return [torch.randn(8, 32), 3]
def get_init_inputs():
    return [32]
)";
constexpr std::string_view kScaledKernel = R"(#include <cstdint>
extern "C" void scaled(const float* x, const float* weight, float* y, int64_t rows, int64_t width, int64_t,
                       double factor, void*, int tid, int threads) {
  for (int64_t row = tid; row < rows; row += threads)
    for (int64_t i = 0; i < width; ++i) y[row * width + i] = x[row * width + i] * weight[i] * (float)factor;
}
)";

class ExportOfModule : public Export {
 protected:
  void SetUp() override {
    if (!run({kPython, "-c", "import torch"}).exit.ok()) GTEST_SKIP() << "there is no PyTorch";
    // The sandbox runs the file as another user.
    fs::permissions(folder_.path(), fs::perms::others_read | fs::perms::others_exec,
                    fs::perm_options::add);
    ASSERT_TRUE(write_file_durably(problem_, kScaledModule));
    ASSERT_TRUE(write_file_durably(folder_.path() / "specgen.toml",
                                   "[tools]\npython = \"" + kPython + "\"\n"));
  }
  Finished export_as(const std::string& form, std::string kernel, std::string backend = "cpu") {
    EXPECT_TRUE(write_run_folder(folder_.path() / "run",
                                 run_won_by({"scaled", problem_.string(), backend}, kernel)));
    return run({SPECGEN_BINARY, "export", "run", "--as", form, "--out", out_.string()});
  }

  const std::string kPython = "/usr/bin/python3";
  const fs::path problem_ = folder_.path() / "scaled.py", out_ = folder_.path() / "out";
};

TEST_F(ExportOfModule, a_native_winner_becomes_a_module_that_agrees_with_its_own) {
  Finished finished = export_as("torch", std::string(kScaledKernel));
  ASSERT_TRUE(finished.exit.ok()) << finished.error_output;
  finished = run({kPython, "test_model_new.py"}, out_);
  EXPECT_TRUE(finished.exit.ok()) << finished.output << finished.error_output;
  EXPECT_TRUE(fs::exists(out_ / "libscaled.so")) << "the kernel was not called";
  finished = run({kPython, "bench_model_new.py"}, out_);
  EXPECT_TRUE(finished.output.contains("ModelNew")) << finished.error_output;
}

TEST_F(ExportOfModule, other_shapes_and_values_use_the_module_itself) {
  std::string wrong(kScaledKernel);
  wrong.replace(wrong.find("* (float)factor"), 15, "+ (float)factor");
  ASSERT_TRUE(export_as("torch", wrong).exit.ok());
  Finished other_shape =
      run({kPython, "-c",
           "import torch, model_new, problem\n"
           "m = model_new.ModelNew(32)\n"
           "for x, factor in (torch.ones(3, 32), 3), (torch.ones(8, 32), 2):\n"
           "    assert torch.equal(m(x, factor=factor), problem.Model.forward(m, x, factor))\n"},
          out_);
  EXPECT_TRUE(other_shape.exit.ok()) << other_shape.error_output;
  EXPECT_FALSE(run({kPython, "test_model_new.py"}, out_).exit.ok()) << "a wrong kernel passes";
}

TEST_F(ExportOfModule, a_cuda_winner_compiles) {
  fs::path nvcc = find_program("nvcc");
  if (nvcc.empty() && fs::exists("/usr/local/cuda/bin/nvcc")) nvcc = "/usr/local/cuda/bin/nvcc";
  if (nvcc.empty()) GTEST_SKIP() << "there is no nvcc";
  Finished finished = export_as("torch", R"(
// specgen:launch scale<<<ceildiv(x.n, 256), 256>>>(x, weight, out0, x.n, x.1, factor)
__global__ void scale(const float* x, const float* weight, float* y, long long n, long long width, double factor) {
  long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = x[i] * weight[i % width] * (float)factor;
}
)",
                                "cuda");
  ASSERT_TRUE(finished.exit.ok()) << finished.error_output;
  finished = run({"make", "NVCC=" + nvcc.string(), "ARCH=sm_90a", "libscaled.so"}, out_);
  EXPECT_TRUE(finished.exit.ok()) << finished.output << finished.error_output;
}

TEST_F(ExportOfModule, is_for_torch_alone) {
  Finished finished = export_as("cpp", std::string(kScaledKernel));
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_TRUE(finished.error_output.contains("--as torch")) << finished.error_output;
}

// Compiled, not run.
TEST_F(Export, a_cuda_launcher_compiles_with_every_kind_of_line) {
  fs::path nvcc = find_program("nvcc");
  if (nvcc.empty() && fs::exists("/usr/local/cuda/bin/nvcc")) nvcc = "/usr/local/cuda/bin/nvcc";
  if (nvcc.empty()) GTEST_SKIP() << "there is no nvcc";
  fs::path out = exported("softmax", "cuda", R"(// specgen:tune BLOCK = 128, 256
// specgen:scratch partial f32[rows, ceildiv(cols, 4096)]
// specgen:zero partial
// specgen:zero y
// specgen:tensormap tile = tiled(x, box(8, 32), swizzle 128)
// specgen:launch row_max<BLOCK, float><<<(ceildiv(cols, 4096), rows), BLOCK>>>(x + 0, partial, rows, cols, 1.5)
// specgen:launch finish<<<2 * rows, BLOCK, 4 * BLOCK, cluster=(2, 1, 1)>>>(tile, partial, y, cols)
// specgen:launch together<<<1, 32, 0, cooperative>>>(y, cols - 1, 1)
#include <cooperative_groups.h>
using T = SPECGEN_DTYPE;
template <int B, class Number>
__global__ void row_max(const float4* __restrict__ x, Number* partial, int rows, long long cols, float factor) {
  partial[blockIdx.x] = x[threadIdx.x % B].x * factor + rows + cols;
}
extern "C" __global__ void finish(const __grid_constant__ CUtensorMap map, const float* partial, T* y, int64_t cols) {
  y[threadIdx.x] = partial[cols % 2] + static_cast<float>(reinterpret_cast<uint64_t>(&map) % 2);
}
__global__ void together(T* y, unsigned cols, bool flag) {
  cooperative_groups::this_grid().sync();
  y[0] = flag ? cols : INFINITY;
}
)",
                          "cuda", R"({"device": "cuda:0", "tunables": {"BLOCK": 256}})");
  Finished finished = run({"make", "-s", "NVCC=" + nvcc.string(), "ARCH=sm_90a", "softmax.o"}, out);
  EXPECT_TRUE(finished.exit.ok()) << finished.output << finished.error_output;
}

TEST_F(Export, a_form_of_the_other_backend_is_refused_with_the_right_one) {
  fs::path run_folder = folder_.path() / "run";
  ASSERT_TRUE(
      write_run_folder(run_folder, run_won_by({"softmax", kTasks + "softmax", "cpu"}, "x")));
  Finished finished = run({SPECGEN_BINARY, "export", run_folder.string(), "--as", "cuda"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_TRUE(finished.error_output.contains("--as cpp")) << finished.error_output;
}

TEST_F(Export, a_folder_that_is_not_empty_is_left_alone) {
  fs::path run_folder = folder_.path() / "run";
  ASSERT_TRUE(write_run_folder(run_folder, run_won_by({"softmax", kTasks + "softmax", "cpu"},
                                                      text_of(kTasks + "softmax/baseline.cc"))));
  Finished finished = run(
      {SPECGEN_BINARY, "export", run_folder.string(), "--as", "cpp", "--out", run_folder.string()});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_FALSE(fs::exists(run_folder / "Makefile"));
}

}  // namespace
}  // namespace specgen
