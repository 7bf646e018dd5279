// PyTorch tasks with real Python processes. Skipped where no Python has torch
// (Debian: apt-get install python3-torch; for the last tests libtorch-dev and pybind11-dev too).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/temporary_folder.h"
#include "evaluate/pytorch/model_new.h"
#include "evaluate/pytorch/python_task.h"
#include "evaluate/task/signature.h"
#include "runtime/loop.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

const fs::path kProblems = fs::path(SPECGEN_SOURCE_DIR) / "tests" / "pytorch";

class PyTorch : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"python3", "/usr/bin/python3"}) {
      auto python = loop_.run(find_python(processes_, name));
      if (!python) continue;
      host_.python = *python;
      return;
    }
    GTEST_SKIP() << "NO PYTHON WITH TORCH: PyTorch tasks are not tested here. "
                    "What to do: apt-get install python3-torch";
  }
  void TearDown() override {
    task_.reset();
    loop_.run(processes_.drain());
  }

  Result<void> open(const fs::path& file, std::map<std::string, std::int64_t> overrides = {}) {
    auto task = loop_.run(
        open_python_task(host_, {.file = file, .overrides = std::move(overrides), .seed = 20}));
    if (!task) return std::unexpected(task.error());
    task_ = std::move(*task);
    return {};
  }
  fs::path write(const std::string& name, std::string_view text) {
    fs::path path = temporary_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  Error error_of(std::string_view problem) {
    auto opened = open(write("problem.py", problem));
    EXPECT_FALSE(opened);
    return opened ? Error{} : opened.error();
  }
  ModelNewOutcome judge(std::string_view source, int rounds = 3) {
    ModelNewRequest request{.source = std::string(source), .secret = {{7, 8}}, .rounds = rounds};
    auto outcome = loop_.run(judge_model_new(*task_, std::move(request)));
    EXPECT_TRUE(outcome) << outcome.error().text();
    if (!outcome) return {.finding = finding(Verdict::harness_error, outcome.error().text())};
    return std::move(*outcome);
  }
  std::string verdict(std::string_view source) {
    Finding found = judge(source).finding;
    last_text_ = found.evidence.text;
    return std::string(to_string(found.verdict));
  }
  std::vector<float> floats(const std::vector<std::byte>& bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

  RealDriver driver_{1};
  Loop loop_{driver_};
  Processes processes_{loop_, driver_};
  TemporaryFolder temporary_ = TemporaryFolder::make().value();
  PythonHost host_{.loop = loop_,
                   .driver = driver_,
                   .processes = processes_,
                   .wrap = unsandboxed(),
                   .python = {},
                   .scratch = temporary_.path()};
  std::unique_ptr<PythonTask> task_;
  std::string last_text_;
};

constexpr std::string_view kRelu = R"(
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
)";

std::string relu_with(std::string_view forward, std::string_view before = "") {
  return "import torch, time, sys\n" + std::string(before) +
         "\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        " +
         std::string(forward) + "\n";
}

TEST_F(PyTorch, a_problem_is_described_by_its_arguments_parameters_and_outputs) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py"));
  const KernelTask& task = task_->kernel_task();
  EXPECT_EQ(task.name, "linear_tanh");
  EXPECT_TRUE(task.fixed_shape);
  EXPECT_TRUE(task_->description().in_double);
  EXPECT_TRUE(task_->description().deterministic);
  EXPECT_EQ(cpu_signature(task),
            "extern \"C\" void linear_tanh(const float* x, const float* layer_weight, const float* "
            "layer_bias, float* out0, int64_t x_0, int64_t x_1, int64_t x_n, double scale, void* "
            "scratch, int tid, int nthreads);");
  EXPECT_EQ(task_->only_case().inputs[1].shape, (std::vector<std::int64_t>{128, 256}));
  EXPECT_EQ(task_->only_case().outputs[0].shape, (std::vector<std::int64_t>{32, 128}));
}

TEST_F(PyTorch, a_constant_is_overridden_with_what_derives_from_it) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py", {{"in_features", 64}, {"batch_size", 3}}));
  EXPECT_EQ(task_->only_case().inputs[0].shape, (std::vector<std::int64_t>{3, 64}));
  EXPECT_EQ(task_->only_case().outputs[0].shape, (std::vector<std::int64_t>{3, 32}));
  auto unknown = open(kProblems / "3_Linear_Tanh.py", {{"features", 64}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::bad_task);
  EXPECT_NE(unknown.error().context.find("in_features"), std::string::npos);
}

TEST_F(PyTorch, inputs_follow_the_seed_and_parameters_stay) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py"));
  auto one = loop_.run(task_->draw(task_->only_case(), 1)).value();
  auto two = loop_.run(task_->draw(task_->only_case(), 2)).value();
  auto again = loop_.run(task_->draw(task_->only_case(), 1)).value();
  ASSERT_EQ(one.size(), 3U);
  EXPECT_EQ(one, again);
  EXPECT_NE(one[0], two[0]);
  EXPECT_EQ(one[1], two[1]);
  EXPECT_EQ(one[2], two[2]);
  EXPECT_TRUE(loop_.run(task_->draw(task_->only_case(), ~std::uint64_t{0})));
}

TEST_F(PyTorch, what_is_expected_is_computed_in_fp64) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py"));
  auto given = loop_.run(task_->draw(task_->only_case(), 5)).value();
  auto outputs = loop_.run(task_->expect_outputs(5)).value();
  EXPECT_TRUE(outputs.exact);
  std::vector<float> x = floats(given[0]), weight = floats(given[1]), bias = floats(given[2]);
  std::vector<float> eager = floats(outputs.eager[0]);
  double eager_error = 0;
  for (std::size_t row = 0; row < 32; ++row) {
    for (std::size_t column = 0; column < 128; ++column) {
      double sum = bias[column];
      for (std::size_t k = 0; k < 256; ++k) {
        sum += static_cast<double>(x[row * 256 + k]) * weight[column * 256 + k];
      }
      double right = std::tanh(sum) * 2.5;
      std::size_t at = row * 128 + column;
      ASSERT_NEAR(outputs.expected[0].value[at], right, 1e-12);
      eager_error = std::max(eager_error, std::abs(eager[at] - right));
    }
  }
  EXPECT_GT(eager_error, 1e-9);  // so fp32 and fp64 differ
  EXPECT_LT(eager_error, 1e-5);
}

TEST_F(PyTorch, samples_are_the_values_at_secret_places) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py"));
  auto all = loop_.run(task_->expect_outputs(5)).value();
  auto some = loop_.run(task_->expect_outputs(5, 100)).value();
  const Expected& expected = some.expected[0];
  ASSERT_EQ(expected.at.size(), 100U);
  EXPECT_EQ(expected.at.front(), 0);
  EXPECT_EQ(expected.at.back(), task_->only_case().outputs[0].elements - 1);
  for (std::size_t i = 0; i < expected.at.size(); ++i) {
    auto at = static_cast<std::size_t>(expected.at[i]);
    EXPECT_EQ(expected.value[i], all.expected[0].value[at]);
    EXPECT_EQ(expected.scale[i], all.expected[0].scale[at]);
    EXPECT_EQ(floats(some.eager[0])[i], floats(all.eager[0])[at]);
  }
}

TEST_F(PyTorch, zeros_are_wrong_where_every_right_number_is_tiny) {
  ASSERT_TRUE(open(kProblems / "23_Softmax.py"));
  auto outputs = loop_.run(task_->expect_outputs(1)).value();
  EXPECT_LT(*std::ranges::max_element(outputs.expected[0].value), 1e-4);
  const Tensor& out = task_->only_case().outputs[0];
  std::vector<std::byte> zeros(out.bytes());
  Tolerance tolerance = task_->tolerance(out);
  OutputReport report = compare(out, zeros, outputs.expected[0], tolerance, {.secret = 1});
  EXPECT_EQ(report.beyond, report.elements);
  EXPECT_EQ(judge_output(task_->only_case(), out, report, tolerance, -1).verdict, Verdict::wrong);
  EXPECT_EQ(verdict(R"(
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)
)"),
            "wrong");
}

TEST_F(PyTorch, reordered_sums_pass_and_half_precision_inside_does_not) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py"));
  constexpr std::string_view kBlocked = R"(
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.other_name = torch.nn.Linear(a, b)
    def forward(self, x, scale):
        w = self.other_name.weight
        y = self.other_name.bias + sum(x[:, k:k+16] @ w[:, k:k+16].T for k in range(0, x.shape[1], 16))
        return torch.tanh(y) * scale
)";
  ModelNewOutcome blocked = judge(kBlocked);
  EXPECT_TRUE(blocked.finding.ok()) << blocked.finding.evidence.text;
  EXPECT_EQ(blocked.parameters_by, "order");
  EXPECT_EQ(verdict(R"(
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.layer = torch.nn.Linear(a, b)
    def forward(self, x, scale):
        w = self.layer.weight
        y = (x.half().float() @ w.half().float().T) + self.layer.bias
        return torch.tanh(y) * scale
)"),
            "imprecise");
}

TEST_F(PyTorch, parameters_that_fit_neither_way_are_refused) {
  ASSERT_TRUE(open(kProblems / "3_Linear_Tanh.py"));
  EXPECT_EQ(verdict(R"(
import torch
class ModelNew(torch.nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(3))
    def forward(self, x, scale):
        return x
)"),
            "rejected");
  EXPECT_NE(last_text_.find("w[3]"), std::string::npos) << last_text_;
}

TEST_F(PyTorch, a_correct_model_is_timed_in_turns_with_the_eager_one) {
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  ModelNewOutcome outcome = judge(kRelu, 5);
  EXPECT_TRUE(outcome.finding.ok()) << outcome.finding.evidence.text;
  EXPECT_EQ(outcome.baseline_ns.size(), 5U);
  EXPECT_EQ(outcome.candidate_ns.size(), 5U);
  EXPECT_GT(outcome.speedup.median, 0);
  EXPECT_LE(outcome.speedup.low, outcome.speedup.high);
  EXPECT_EQ(outcome.parameters_by, "none");
  EXPECT_TRUE(outcome.trust.starts_with("weak"));
}

TEST_F(PyTorch, wrong_models_get_the_verdict_that_says_why) {
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  EXPECT_EQ(verdict(relu_with("return x")), "wrong");
  EXPECT_EQ(verdict(relu_with("return torch.relu(x).T")), "wrong");
  EXPECT_NE(last_text_.find("[1024, 16]"), std::string::npos) << last_text_;
  EXPECT_EQ(verdict(relu_with("return torch.relu(x)[:1].expand_as(x)")), "wrong");
  EXPECT_EQ(verdict(relu_with("return torch.relu(x).double()")), "wrong");
  EXPECT_EQ(verdict(relu_with("return torch.relu(x) / 0 * 0")), "nonfinite");
  EXPECT_EQ(verdict(relu_with("return None")), "rejected");
  EXPECT_EQ(verdict(relu_with("return torch.relu(x), x")), "wrong");
  EXPECT_EQ(verdict("def ModelOld(): pass"), "rejected");
}

TEST_F(PyTorch, errors_of_loading_or_running_have_a_line) {
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  ModelNewOutcome syntax = judge("import torch\nclass ModelNew(\n");
  EXPECT_EQ(syntax.finding.verdict, Verdict::compile_error);
  EXPECT_GT(syntax.finding.evidence.line, 0);
  ModelNewOutcome raised = judge(relu_with("return x + undefined_name"));
  EXPECT_EQ(raised.finding.verdict, Verdict::crash);
  EXPECT_EQ(raised.finding.evidence.line, 5);
  EXPECT_EQ(verdict(relu_with("import ctypes; ctypes.string_at(8)")), "crash");
  EXPECT_EQ(verdict(relu_with("sys.exit(0)")), "crash");
  EXPECT_EQ(verdict(relu_with("import os; os._exit(0)")), "crash");
  ModelNewRequest endless{.source = relu_with("time.sleep(1000)"), .secret = {}, .call_limit = 1s};
  auto outcome = loop_.run(judge_model_new(*task_, std::move(endless)));
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->finding.verdict, Verdict::timeout);
}

TEST_F(PyTorch, cheats_are_found) {
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  EXPECT_EQ(verdict(relu_with("return x.clamp_(min=0)")), "input_modified");
  EXPECT_EQ(verdict(relu_with("return seen.setdefault(x.data_ptr(), torch.relu(x))", "seen = {}")),
            "wrong");
  EXPECT_EQ(verdict(relu_with("return torch.relu(x).as_subclass(Lazy)",
                              "class Lazy(torch.Tensor): pass")),
            "rejected");
  EXPECT_EQ(verdict(relu_with("return torch.nn.Parameter(torch.relu(x))")), "rejected");
  EXPECT_EQ(verdict(relu_with(
                "import threading; y = torch.zeros_like(x); threading.Thread(target=lambda: "
                "(time.sleep(0.2), y.copy_(torch.relu(x)))).start(); return y")),
            "wrong");
}

TEST_F(PyTorch, a_clock_that_the_candidate_patches_is_not_the_one_that_is_read) {
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  ModelNewOutcome outcome =
      judge(relu_with("sleep(0.005); return torch.relu(x)",
                      "sleep = time.sleep\ntime.perf_counter = time.perf_counter_ns = lambda: 1\n"
                      "time.monotonic = time.monotonic_ns = time.perf_counter\n"));
  EXPECT_TRUE(outcome.finding.ok()) << outcome.finding.evidence.text;
  for (double ns : outcome.candidate_ns) EXPECT_GE(ns, 5e6);
}

TEST_F(PyTorch, a_clock_reached_by_other_ways_disagrees_with_the_judges) {
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  // Finds our object on the heap and gives it a clock that runs a thousand times slower.
  ModelNewOutcome outcome = judge(R"(
import gc, time, torch
real, sleep = time.perf_counter_ns, time.sleep
for thing in gc.get_objects():
    if type(thing).__name__ == "Candidate":
        thing.clock = lambda: real() // 1000
class ModelNew(torch.nn.Module):
    def forward(self, x):
        sleep(0.02)
        return torch.relu(x)
)");
  EXPECT_EQ(outcome.finding.verdict, Verdict::deferred_work) << outcome.finding.evidence.text;
}

TEST_F(PyTorch, faults_of_the_problem_have_their_line) {
  Error none = error_of("import torch\n");
  EXPECT_EQ(none.code, ErrorCode::bad_task);
  EXPECT_EQ(none.exit_code(), ExitCode::usage);
  Error raises = error_of(R"(import torch
class Model(torch.nn.Module):
    def forward(self, x): return x
def get_inputs():
    return [torch.randn(2, 3) @ torch.randn(2, 3)]
)");
  EXPECT_EQ(raises.code, ErrorCode::bad_task);
  EXPECT_NE(raises.context.find("problem.py:5: RuntimeError"), std::string::npos) << raises.context;
  Error no_tensor = error_of(R"(import torch
class Model(torch.nn.Module):
    def forward(self, x): return "text"
def get_inputs(): return [torch.randn(2)]
)");
  EXPECT_EQ(no_tensor.code, ErrorCode::bad_task);
  EXPECT_NE(no_tensor.context.find("str"), std::string::npos);
  Error chance = error_of(R"(import torch
class Model(torch.nn.Module):
    def forward(self, x): return torch.nn.functional.dropout(x)
def get_inputs(): return [torch.randn(100)]
)");
  EXPECT_EQ(chance.code, ErrorCode::bad_task);
  EXPECT_NE(chance.context.find("dropout"), std::string::npos);
  EXPECT_EQ(error_of("def (:\n").code, ErrorCode::bad_task);
  EXPECT_EQ(error_of("import sys; sys.exit(3)\n").code, ErrorCode::bad_task);
}

TEST_F(PyTorch, what_this_torch_lacks_is_named_and_where_it_is_used) {
  Error lacking = error_of(R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.attention_of_the_future(x)
def get_inputs(): return [torch.randn(2)]
)");
  EXPECT_EQ(lacking.code, ErrorCode::tool_missing);
  EXPECT_EQ(lacking.exit_code(), ExitCode::environment);
  EXPECT_NE(lacking.context.find("has no torch.nn.functional.attention_of_the_future (used by "
                                 "problem.py:4)"),
            std::string::npos)
      << lacking.context;
  Error module = error_of("import torch\nimport module_that_does_not_exist\n");
  EXPECT_EQ(module.code, ErrorCode::tool_missing);
  EXPECT_NE(module.context.find("module_that_does_not_exist"), std::string::npos);
  Error name = error_of("from torch.nn import LayerOfTheFuture\n");
  EXPECT_EQ(name.code, ErrorCode::tool_missing);
  EXPECT_NE(name.context.find("torch.nn.LayerOfTheFuture"), std::string::npos) << name.context;
}

TEST_F(PyTorch, a_problem_that_never_ends_is_stopped) {
  host_.time_limit = 5s;
  Error endless = error_of("import time\ntime.sleep(1000)\n");
  EXPECT_EQ(endless.code, ErrorCode::timeout);
}

// An own process and a cache folder: the second candidate has the header, the third its library.
TEST_F(PyTorch, inline_extensions_are_built_with_a_precompiled_header_that_is_kept) {
  if (!fs::exists("/usr/include/torch/extension.h")) {
    GTEST_SKIP() << "NO HEADERS OF TORCH: load_inline is not tested here. "
                    "What to do: apt-get install libtorch-dev pybind11-dev";
  }
  host_.cache = temporary_.path() / "cache";
  ASSERT_TRUE(open(kProblems / "19_ReLU.py"));
  auto source = [](std::string_view zero) {
    return R"(
import torch
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {
  auto y = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) {
    float v = x.data_ptr<float>()[i];
    y.data_ptr<float>()[i] = v > 0 ? v : )" +
           std::string(zero) + R"(;
  }
  return y;
}
"""
extension = load_inline("ext", cpp_sources=source, functions=["relu"], extra_cflags=["-O3"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension.relu(x)
)";
  };
  auto timed = [&](std::string_view zero) {
    ModelNewOutcome outcome = judge(source(zero), 1);
    EXPECT_TRUE(outcome.finding.ok()) << outcome.finding.evidence.text;
    for (const std::string& remark : outcome.remarks) ADD_FAILURE() << remark;
    return outcome.load_took;
  };
  auto headers = [&] {
    return std::distance(fs::directory_iterator(host_.cache / "headers"), fs::directory_iterator{});
  };
  auto libraries = [&] {
    auto all = fs::recursive_directory_iterator(host_.cache / "libraries");
    return std::ranges::count_if(all, [](const auto& e) { return e.path().extension() == ".so"; });
  };
  Duration first = timed("0.0f");
  EXPECT_EQ(headers(), 1);
  EXPECT_EQ(libraries(), 1);
  Duration second = timed("0.f");
  EXPECT_EQ(headers(), 1);
  EXPECT_EQ(libraries(), 2);
  Duration third = timed("0.f");
  EXPECT_EQ(libraries(), 2);
  RecordProperty("first_with_header", format_duration(first));
  RecordProperty("second", format_duration(second));
  RecordProperty("same_again", format_duration(third));
  ModelNewOutcome broken = judge(source("nonsense"));
  EXPECT_EQ(broken.finding.verdict, Verdict::compile_error);
  EXPECT_NE(broken.finding.evidence.text.find("nonsense"), std::string::npos);
}

}  // namespace
}  // namespace specgen
