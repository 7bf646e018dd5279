// Compiles CUDA source in real compile processes, which need NVRTC and no GPU.

#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>

#include "evaluate/candidate/launch_plan.h"
#include "evaluate/cuda/ceilings.h"
#include "evaluate/cuda/compile_pool.h"
#include "evaluate/cuda/judge_kernels.h"
#include "evaluate/cuda/toolchain.h"
#include "evaluate/host/cuda_libraries.h"
#include "evaluate/task/data_cuda_source.h"
#include "runtime/testing.h"
#include "support/cuda_candidates.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

// A task with x and y of rows by cols, and a scalar.
KernelTask copy_task() {
  auto parsed = [](const char* text) { return Expression::parse(text).value(); };
  KernelTask task;
  task.name = "copy";
  task.axes = {{.name = "rows", .high = 1 << 20}, {.name = "cols", .high = 1 << 20}};
  task.inputs = {{.name = "x",
                  .shape = {parsed("rows"), parsed("cols")},
                  .data = {{.kind = Distribution::Kind::normal, .a = 0, .b = 1}}}};
  task.outputs = {{.name = "y", .shape = {parsed("rows"), parsed("cols")}, .data = {}}};
  task.scalars = {{.name = "one", .value = 1.0}};
  task.bytes = parsed("8*rows*cols");
  task.flops = parsed("0");
  return task;
}

class CudaCompile : public testing::Test {
 protected:
  void SetUp() override {
    CudaReport report;
    try_nvrtc(report);
    if (!report.nvrtc.works) GTEST_SKIP() << "NO NVRTC ON THIS HOST: " << report.nvrtc.problem;
  }

  CompilePoolSettings settings() {
    return {.loop = runtime_.loop,
            .driver = runtime_.driver,
            .processes = processes_,
            .self = {SPECGEN_NODE_BINARY},
            .architecture = "sm_90a"};
  }
  Compilation compile(CompilePool& pool, CompileRequest request) {
    auto done = runtime_.loop.run(pool.compile(std::move(request)));
    if (done) return std::move(*done);
    ADD_FAILURE() << done.error().text();
    return {};
  }
  Compilation compile(std::string source, std::vector<std::string> names = {}) {
    CompilePool pool(settings());
    return compile(pool, {.source = std::move(source),
                          .architecture = "sm_90a",
                          .name_expressions = std::move(names),
                          .include_folders = cuda_include_folders()});
  }

  RealRuntime runtime_;
  Processes processes_{runtime_.loop, runtime_.driver};
};

TEST_F(CudaCompile, templates_get_their_mangled_names) {
  Compilation done = compile(
      "template <int B, class T> __global__ void k(T* x) { x[B] = 1; }\n"
      "extern \"C\" __global__ void plain(float* x) { *x = 2; }\n"
      "__global__ void mangled(float* x) { *x = 3; }\n",
      {"k<7, float>", "plain", "mangled"});
  ASSERT_TRUE(done.answer.ok) << done.answer.log;
  EXPECT_TRUE(
      done.answer.cubin.starts_with("\x7f"
                                    "ELF"));
  EXPECT_EQ(done.answer.lowered_names.at("plain"), "plain");
  EXPECT_EQ(done.answer.lowered_names.at("mangled"), "_Z7mangledPf");
  std::string lowered = done.answer.lowered_names.at("k<7, float>");
  EXPECT_TRUE(lowered.starts_with("_Z1kILi7Ef")) << lowered;
  EXPECT_NE(done.answer.cubin.find(lowered), std::string::npos);
  EXPECT_NE(done.answer.log.find("registers"), std::string::npos) << done.answer.log;
}

TEST_F(CudaCompile, tunables_and_the_dtype_are_macros) {
  CompilePool pool(settings());
  Compilation done = compile(pool, {.source = "using T = SPECGEN_DTYPE;\n"
                                              "__device__ T twice(T x) { return BLOCK * x; }\n"
                                              "__global__ void k(T* x) { *x = twice(*x); }\n",
                                    .architecture = "sm_80",
                                    .defines = {{"SPECGEN_DTYPE", "long long"}, {"BLOCK", "2"}},
                                    .name_expressions = {"k"}});
  EXPECT_TRUE(done.answer.ok) << done.answer.log;
  EXPECT_EQ(done.answer.lowered_names["k"], "_Z1kPx");
}

TEST_F(CudaCompile, the_headers_that_candidates_may_use_are_found) {
  Compilation done = compile(
      "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n#include <mma.h>\n"
      "#include <cooperative_groups.h>\n#include <cuda/barrier>\n#include <cuda.h>\n"
      "#include <cuda_runtime.h>\n#include <cstdint>\n#include <cmath>\n"
      "__global__ void k(__half* x, __nv_bfloat16* y) {\n"
      "  cooperative_groups::this_thread_block().sync();\n"
      "  x[0] = __float2half(__bfloat162float(y[0]));\n}\n",
      {"k"});
  EXPECT_TRUE(done.answer.ok) << done.answer.log;
}

TEST_F(CudaCompile, common_names_of_device_code_are_declared) {
  Compilation plain = compile(
      "__global__ void k(float* y, int64_t n, uint32_t m, size_t s, uint8_t b) {\n"
      "  constexpr float kLeast = -FLT_MAX, kMost = INFINITY; y[9] = kMost;\n"
      "  y[0] = n > INT_MAX ? INFINITY : kLeast; y[1] = NAN; y[2] = M_PI * m * s * b;\n}\n",
      {"k"});
  EXPECT_TRUE(plain.answer.ok) << plain.answer.log;
  EXPECT_EQ(plain.answer.log.find("warning"), std::string::npos) << plain.answer.log;
  EXPECT_LT(plain.answer.cubin.size(), 20'000U) << "unused parts are not in the program";
  Compilation with_headers = compile(
      "#include <cstdint>\n#include <cmath>\n#include <limits>\n#include <type_traits>\n"
      "#include <cfloat>\n#include <climits>\n#include <stdint.h>\n#include <math.h>\n"
      "#include <cstddef>\n#include <cuda.h>\n"
      "static_assert(std::is_same_v<std::int64_t, int64_t>);\n"
      "__global__ void k(float* y, std::size_t n) {\n"
      "  y[n] = std::sqrt(y[0]) + std::numeric_limits<float>::infinity() + INFINITY;\n}\n",
      {"k"});
  EXPECT_TRUE(with_headers.answer.ok) << with_headers.answer.log;
}

TEST_F(CudaCompile, an_error_has_its_line_and_no_folders) {
  Compilation done = compile("\n\n__global__ void k(float* x) { y[0] = 1; }\n", {"k"});
  EXPECT_FALSE(done.answer.ok);
  Finding found = judge_compilation(done, 30s);
  EXPECT_EQ(found.verdict, Verdict::compile_error);
  EXPECT_EQ(found.evidence.line, 3) << found.evidence.text;
  EXPECT_NE(found.evidence.text.find("\"y\" is undefined"), std::string::npos)
      << found.evidence.text;
}

TEST_F(CudaCompile, a_missing_kernel_is_a_compile_error) {
  Compilation done = compile("__global__ void k() {}\n", {"other<3>"});
  Finding found = judge_compilation(done, 30s);
  EXPECT_EQ(found.verdict, Verdict::compile_error);
  EXPECT_NE(found.evidence.text.find("other"), std::string::npos) << found.evidence.text;
}

TEST_F(CudaCompile, a_kernel_too_large_for_the_hardware_is_a_compile_error) {
  Compilation done =
      compile("__global__ void k() { __shared__ volatile int x[99999]; x[0] = 1; }\n", {"k"});
  Finding found = judge_compilation(done, 30s);
  EXPECT_EQ(found.verdict, Verdict::compile_error);
  EXPECT_NE(found.evidence.text.find("shared"), std::string::npos) << found.evidence.text;
}

TEST_F(CudaCompile, a_source_that_takes_too_long_is_abandoned_and_leaves_no_process) {
  CompilePoolSettings impatient = settings();
  impatient.time_limit = 300ms;
  impatient.warm = 0;
  CompilePool pool(std::move(impatient));
  // Takes minutes: instantiates itself exponentially often.
  Compilation done = compile(
      pool, {.source = "template <int A, int B> struct S { static constexpr int v = S<A-1, 2*B>::v "
                       "+ S<A-1, 2*B+1>::v; };\n"
                       "template <int B> struct S<0, B> { static constexpr int v = B; };\n"
                       "__global__ void k(int* x) { *x = S<24, 1>::v; }\n",
             .architecture = "sm_90a",
             .name_expressions = {"k"}});
  EXPECT_EQ(done.end, Compilation::End::too_slow);
  runtime_.loop.run(processes_.drain());
  EXPECT_EQ(processes_.alive(), 0U);
}

TEST_F(CudaCompile, the_compiler_works_inside_the_sandbox) {
  auto sandbox = runtime_.loop.run(Sandbox::open(
      runtime_.loop, processes_, {.allow_none = true, .self = {SPECGEN_NODE_BINARY}}));
  ASSERT_TRUE(sandbox) << sandbox.error().text();
  if (sandbox->level() == SandboxLevel::none) GTEST_SKIP() << "no sandbox on this host";
  CompilePoolSettings sandboxed = settings();
  sandboxed.wrap = wrap_with(*sandbox);
  CudaToolchain toolchain(std::move(sandboxed), {});
  auto done = runtime_.loop.run(toolchain.compile(copy_task(), std::string(kCluster), {}));
  ASSERT_TRUE(done) << to_string(sandbox->level()) << ": " << done.error().text();
  EXPECT_TRUE(done->finding.ok()) << done->finding.evidence.text;
  auto ours = runtime_.loop.run(toolchain.compile_ours(kInputKernelSource));
  EXPECT_TRUE(ours) << ours.error().text();
}

TEST_F(CudaCompile, a_new_process_is_started_during_a_compilation) {
  CompilePool pool(settings());
  EXPECT_EQ(pool.warm(), 0U);
  for (const char* source : {"__global__ void a() {}", "__global__ void b() {}"}) {
    EXPECT_TRUE(compile(pool, {.source = source, .architecture = "sm_80"}).answer.ok);
    EXPECT_EQ(pool.warm(), 1U);
  }
}

TEST_F(CudaCompile, a_host_without_a_working_compiler_is_an_error) {
  CompilePoolSettings broken = settings();
  broken.self = {"/bin/false"};
  CompilePool pool(std::move(broken));
  auto done = runtime_.loop.run(pool.compile({.source = "", .architecture = "sm_80"}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::harness_failed) << done.error().text();

  CompilePoolSettings unknown = settings();
  unknown.architecture = "sm_12345";
  CompilePool other(std::move(unknown));
  done = runtime_.loop.run(other.compile({.source = "", .architecture = "sm_80"}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::tool_missing) << done.error().text();
}

TEST_F(CudaCompile, our_own_kernels_compile_for_every_architecture_and_have_their_names) {
  struct Ours {
    std::string_view source;
    std::vector<std::string> names;
  };
  const std::vector<Ours> all{
      {kJudgeKernelSource, {"specgen_digest", "specgen_fill_slack", "specgen_check_slack"}},
      {kInputKernelSource,
       {"specgen_fill", "specgen_poison", "specgen_compare", "specgen_compare_baseline"}},
      {kExecutorKernelSource, {"specgen_gate", "specgen_sum"}},
      {kCeilingKernelSource,
       {"ceiling_read", "ceiling_nothing", "ceiling_f32", "ceiling_f64", "ceiling_f64_matrix",
        "ceiling_f16", "ceiling_bf16", "ceiling_tf32"}}};
  for (const Ours& ours : all) {
    for (const char* architecture : {"sm_80", "sm_90a", "sm_100a"}) {
      CompilePool pool(settings());
      Compilation done =
          compile(pool, {.source = std::string(ours.source), .architecture = architecture});
      ASSERT_TRUE(done.answer.ok) << architecture << ": " << done.answer.log;
      for (const std::string& name : ours.names) {
        EXPECT_NE(done.answer.cubin.find(".text." + name), std::string::npos)
            << name << " for " << architecture;
      }
      EXPECT_EQ(done.answer.log.find("warning"), std::string::npos) << done.answer.log;
    }
  }
}

TEST_F(CudaCompile, the_candidates_of_the_tests_on_a_gpu_pass_the_gates_and_have_a_plan) {
  KernelTask task = copy_task();
  CudaToolchain toolchain(settings(), {});
  Case at = make_case(task, {{"rows", 37}, {"cols", 100}}).value();
  for (std::string_view source :
       {kCopy,           kTemplateCopy, kScalars,         kLargeShared,
        kCluster,        kCooperative,  kTensormap,       kZeroed,
        kWritesBehind,   kWritesBefore, kLazyWhenSmall,   kWritesBehindWhenSmall,
        kReadsFarBehind, kWritesInput,  kEndless,         kTrap,
        kMisaligned,     kHalf,         kTooFewArguments, kTooManyThreads}) {
    SCOPED_TRACE(source);
    auto done = runtime_.loop.run(toolchain.compile(task, std::string(source), {}));
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_TRUE(done->finding.ok()) << done->finding.evidence.text;
    auto plan = resolve(done->program.directives, task, at, done->program.tunables, {});
    ASSERT_TRUE(plan) << plan.error().reason;
    for (const PlannedLaunch& launch : plan->launches) {
      EXPECT_TRUE(done->program.lowered_names.contains(launch.name_expression))
          << launch.name_expression;
    }
  }
}

TEST_F(CudaCompile, what_the_gates_refuse_is_not_compiled) {
  KernelTask task = copy_task();
  CudaToolchain toolchain(settings(), {});
  auto verdict = [&](std::string source, Values tunables = {}) {
    auto done = runtime_.loop.run(toolchain.compile(task, std::move(source), std::move(tunables)));
    EXPECT_TRUE(done) << done.error().text();
    return done ? done->finding : Finding{};
  };
  EXPECT_EQ(verdict("__global__ void k() {}\n").verdict, Verdict::rejected);
  EXPECT_EQ(verdict("").verdict, Verdict::rejected);
  Finding include = verdict(
      "// specgen:launch k<<<1, 1>>>()\n#include \"/etc/passwd\"\n"
      "__global__ void k() {}\n");
  EXPECT_EQ(include.verdict, Verdict::rejected);
  EXPECT_EQ(include.evidence.line, 2);
  EXPECT_EQ(verdict(std::string(kTemplateCopy), {{"NOPE", 1}}).verdict, Verdict::rejected);
  // A writable global keeps state between calls; it is found in the machine code.
  EXPECT_EQ(verdict("// specgen:launch k<<<1, 1>>>(y)\n__device__ float state;\n"
                    "__global__ void k(float* y) { y[0] = state; state += 1; }\n")
                .verdict,
            Verdict::rejected);
}

TEST_F(CudaCompile, named_constants_are_accepted_on_every_architecture) {
  KernelTask task = copy_task();
  auto verdict = [&](const std::string& architecture, const std::string& declared,
                     const std::string& body) {
    CompilePoolSettings here = settings();
    here.architecture = architecture;
    CudaToolchain toolchain(std::move(here), {});
    std::string source = "// specgen:launch k<<<1, 32>>>(y)\n" + declared +
                         "\n__global__ void k(float* y) { " + body + " }\n";
    auto done = runtime_.loop.run(toolchain.compile(task, std::move(source), {}));
    EXPECT_TRUE(done) << done.error().text();
    return done ? done->finding.verdict : Verdict::harness_error;
  };
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100a"}) {
    SCOPED_TRACE(architecture);
    const std::string constants =
        "constexpr int kTile = 32; const float kScale = 1.5f; struct Shape { static constexpr int "
        "kDepth = 8; };";
    EXPECT_EQ(verdict(architecture, constants,
                      "__shared__ float tile[kTile]; tile[threadIdx.x] = y[threadIdx.x]; "
                      "__syncthreads(); y[threadIdx.x] = kScale * tile[Shape::kDepth];"),
              Verdict::ok);
    EXPECT_EQ(
        verdict(architecture, constants,
                "*const_cast<float*>(&kScale) += y[0]; y[1] = *(volatile const float*)&kScale;"),
        Verdict::rejected);
    EXPECT_EQ(verdict(architecture, "", "static int calls; calls += 1; y[0] = calls;"),
              Verdict::rejected);
  }
}

TEST_F(CudaCompile, compiles_inside_the_sandbox_of_this_host) {
  auto sandbox =
      runtime_.loop.run(Sandbox::open(runtime_.loop, processes_, {.self = {SPECGEN_NODE_BINARY}}));
  if (!sandbox) GTEST_SKIP() << "NO SANDBOX ON THIS HOST: " << sandbox.error().text();
  CompilePoolSettings sandboxed = settings();
  sandboxed.wrap = wrap_with(*sandbox);
  CompilePool pool(std::move(sandboxed));
  Compilation done =
      compile(pool, {.source = "#include <cuda_fp16.h>\n"
                               "extern \"C\" __global__ void k(__half* x) { *x = 1; }",
                     .architecture = "sm_90a",
                     .name_expressions = {},
                     .include_folders = cuda_include_folders()});
  EXPECT_TRUE(done.answer.ok) << done.answer.log;
  EXPECT_FALSE(done.answer.cubin.empty());
}

}  // namespace
}  // namespace specgen
