// The author's CUDA kernels: a sample of each plan passes the compiler and
// the gates, which needs NVRTC and no GPU; on a GPU it is evaluated, and so are the mistakes.

#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cctype>
#include <set>

#include "base/file.h"
#include "base/random.h"
#include "evaluate/candidate/launch_plan.h"
#include "evaluate/cuda/toolchain.h"
#include "evaluate/host/cuda_libraries.h"
#include "evaluate/host/fake_tools.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/task/cases.h"
#include "generate/author/kernel_plan.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSyntax = "syntax";  // the mistake that no compiler accepts
constexpr std::size_t kDrawn = 6;   // combinations besides the first and the last choices
constexpr std::size_t kJudged = 4;  // the first of these, evaluated on a GPU

// Every variant of every task that has a plan: "tasks/softmax:f16".
std::vector<std::string> planned_tasks() {
  std::vector<std::string> all;
  for (const ListedTask& listed : list_tasks(fs::path(SPECGEN_SOURCE_DIR) / "tasks").value()) {
    if (!listed.task || !find_plan(listed.task->name, "cuda")) continue;
    for (Dtype element : listed.task->elements) {
      all.push_back("tasks/" + listed.folder.filename().string() + ":" +
                    std::string(to_string(element)));
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param.substr(info.param.find('/') + 1);
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

Decisions draw(const KernelPlan& plan, Random& random) {
  Decisions made;
  for (const Decision& decision : plan.decisions()) {
    made[decision.name] = decision.choices[random.below(decision.choices.size())].value;
  }
  return made;
}

// The first choices, the last ones, and some between; the same in every run.
std::vector<Decisions> sample(const KernelPlan& plan, std::string_view task) {
  Random random = Random(4).fork(task);
  Decisions boldest;
  for (const Decision& decision : plan.decisions()) {
    boldest[decision.name] = decision.choices.back().value;
  }
  std::vector<Decisions> all{Decisions(), boldest};
  for (std::size_t i = 0; i < kDrawn; ++i) all.push_back(draw(plan, random));
  return all;
}

class AuthorCudaPlan : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    task_ = load_task((fs::path(SPECGEN_SOURCE_DIR) / GetParam()).string()).value();
    plan_ = find_plan(task_.title(), "cuda");
    ASSERT_NE(plan_, nullptr);
  }
  std::vector<Decisions> sample() const { return specgen::sample(*plan_, GetParam()); }

  KernelTask task_;
  const KernelPlan* plan_ = nullptr;
};

class AuthorCudaCompile : public AuthorCudaPlan {
 protected:
  void SetUp() override {
    CudaReport report;
    try_nvrtc(report);
    if (!report.nvrtc.works) GTEST_SKIP() << "NO NVRTC ON THIS HOST: " << report.nvrtc.problem;
    AuthorCudaPlan::SetUp();
  }

  Compiled compile(const std::string& source, Values tunables = {}) {
    auto done = fixture_.run(toolchain_.compile(task_, source, std::move(tunables)));
    if (done) return std::move(*done);
    ADD_FAILURE() << done.error().text();
    return {};
  }

  // Compiled, through the gates, and launched within all limits in every case and with every tunable.
  void expect_launchable(const std::string& source) {
    SCOPED_TRACE(source);
    Compiled compiled = compile(source);
    ASSERT_TRUE(compiled.finding.ok()) << compiled.finding.evidence.text;
    std::vector<Case> cases = public_cases(task_, Backend::cuda).value();
    for (Case& hidden : hidden_cases(task_, Secret{{1, 2}}).value()) cases.push_back(hidden);
    const Directives& directives = compiled.program.directives;
    std::vector<Values> settings{compiled.program.tunables};
    for (const Tunable& tunable : directives.tunables) {
      for (std::int64_t value : tunable.values) {
        settings.push_back(tunable_values(directives, {{tunable.name, value}}).value());
      }
    }
    for (const Case& at : cases) {
      for (const Values& tunables : settings) {
        auto planned = resolve(directives, task_, at, tunables, {});
        ASSERT_TRUE(planned) << at.title() << ": " << planned.error().reason;
        for (const PlannedLaunch& launch : planned->launches) {
          EXPECT_TRUE(compiled.program.lowered_names.contains(launch.name_expression));
        }
      }
    }
  }

  ToolFixture fixture_;
  CudaToolchain toolchain_{{.loop = fixture_.loop,
                            .driver = fixture_.driver,
                            .processes = fixture_.processes,
                            .self = {SPECGEN_NODE_BINARY},
                            .architecture = "sm_90a"},
                           {}};
};

TEST(AuthorCudaPlans, exist_for_these_tasks_and_have_decisions_and_mistakes) {
  for (const char* task : {"hinge_loss", "gelu", "softmax", "rms_norm", "matmul_square",
                           "matmul_4d_tensor", "matmul_bias_gelu"}) {
    const KernelPlan* plan = find_plan(task, "cuda");
    ASSERT_NE(plan, nullptr) << task;
    EXPECT_GE(plan->decisions().size(), 4U) << task;
    EXPECT_LE(plan->decisions().size(), 8U) << task;
    EXPECT_GE(plan->mistakes().size(), 4U) << task;
    for (const Decision& decision : plan->decisions()) {
      EXPECT_GE(decision.choices.size(), 2U) << task << ": " << decision.name;
    }
  }
}

TEST(AuthorCudaPlans, parse_in_every_file_that_ships) {
  const fs::path folder = fs::path(SPECGEN_SOURCE_DIR) / "src/generate/author/kernels/cuda";
  for (const auto& entry : fs::directory_iterator(folder)) {
    auto plan = KernelPlan::parse(read_file(entry.path()).value(), entry.path().filename());
    EXPECT_TRUE(plan) << plan.error().text();
  }
}

TEST_P(AuthorCudaPlan, writes_what_was_decided_and_leaves_no_mark_of_the_plan) {
  std::set<std::string> kernels;
  for (const Decisions& made : sample()) {
    std::string source = plan_->write(made);
    kernels.insert(source);
    EXPECT_EQ(source.find("//?"), std::string::npos) << source;
    EXPECT_EQ(source.find('@'), std::string::npos) << source;
    for (const Mistake& mistake : plan_->mistakes()) {
      EXPECT_NE(plan_->write(made, mistake.name), source) << mistake.name << " changes nothing";
    }
  }
  EXPECT_GT(kernels.size(), kDrawn / 2);
}

TEST_P(AuthorCudaCompile, writes_kernels_that_pass_the_gates) {
  for (const Decisions& made : sample()) expect_launchable(plan_->write(made));
}

TEST_P(AuthorCudaCompile,
       makes_mistakes_that_only_the_judge_can_find_and_slips_that_the_compiler_does) {
  Random random = Random(5).fork(GetParam());
  for (const Mistake& mistake : plan_->mistakes()) {
    std::string source = plan_->write(draw(*plan_, random), mistake.name);
    if (mistake.name == kSyntax) {
      EXPECT_EQ(compile(source).finding.verdict, Verdict::compile_error) << source;
    } else {
      expect_launchable(source);
    }
  }
}

// One judge for all of them: a task's references are computed once, and nothing is timed for longer
// than a screen takes. A judge that has gone is started again.
class GpuJudge {
 public:
  struct Ruling {
    std::string verdict;
    std::string text;  // why
  };

  Ruling judge(const std::string& task, const std::string& source) {
    auto compiled = ask("compile", task, {{"source", source}});
    Ruling ruling = ruling_of(compiled);
    if (ruling.verdict != "ok") return ruling;
    std::vector<Fd> binary = std::move(judge_->descriptors);
    if (binary.size() != 1) return {"error", "no binary came"};
    judge_->attach = {binary.front().get()};
    return ruling_of(ask("validate", task, {{"program", compiled->at("program")}}));
  }

 private:
  Result<Json> ask(const std::string& kind, const std::string& task, boost::json::object job) {
    if (!judge_ || !judge_->alive()) {
      judge_.reset();
      judge_ = TRY(JudgeProcess::start(
          fixture_.loop, fixture_.driver, fixture_.processes, {SPECGEN_NODE_BINARY},
          {.device = "cuda:0", .secret = "5ec4e7005ec4e7015ec4e7025ec4e703"}));
    }
    job["task"] = (fs::path(SPECGEN_SOURCE_DIR) / task).string();
    return fixture_.run(judge_->ask(kind, std::move(job), std::chrono::minutes(2)));
  }

  static Ruling ruling_of(const Result<Json>& answer) {
    if (!answer) return {"error", answer.error().text()};
    const Json& finding = answer->at("finding");
    return {text_at(finding, "verdict"), text_at(finding.at("evidence"), "text")};
  }

  ToolFixture fixture_;
  std::unique_ptr<JudgeProcess> judge_;
};

class AuthorCudaOnGpu : public AuthorCudaPlan {
 protected:
  static bool there_is_a_gpu() { return ::access("/dev/nvidiactl", F_OK) == 0; }
  static void SetUpTestSuite() {
    if (there_is_a_gpu()) judge_ = std::make_unique<GpuJudge>();
  }
  static void TearDownTestSuite() { judge_.reset(); }
  void SetUp() override {
    if (!there_is_a_gpu()) GTEST_SKIP() << "NOT JUDGED: there is no GPU here";
    AuthorCudaPlan::SetUp();
  }

  static GpuJudge::Ruling judged(const std::string& source) {
    return judge_->judge(GetParam(), source);
  }

 private:
  static inline std::unique_ptr<GpuJudge> judge_;
};

TEST_P(AuthorCudaOnGpu, writes_kernels_that_are_right) {
  std::vector<Decisions> all = sample();
  all.resize(kJudged);
  for (const Decisions& made : all) {
    std::string source = plan_->write(made);
    GpuJudge::Ruling ruling = judged(source);
    EXPECT_EQ(ruling.verdict, "ok") << ruling.text << "\n" << source;
  }
}

TEST_P(AuthorCudaOnGpu, makes_mistakes_that_are_found) {
  Random random = Random(5).fork(GetParam());
  for (const Mistake& mistake : plan_->mistakes()) {
    std::string source = plan_->write(draw(*plan_, random), mistake.name);
    GpuJudge::Ruling ruling = judged(source);
    // A race may go well on a given GPU, every time.
    if (mistake.name == "missing_barrier" && ruling.verdict == "ok") continue;
    EXPECT_NE(ruling.verdict, "ok") << mistake.name << "\n" << source;
    EXPECT_NE(ruling.verdict, "error") << mistake.name << ": " << ruling.text << "\n" << source;
    EXPECT_NE(ruling.verdict, "harness_error") << ruling.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, AuthorCudaPlan, testing::ValuesIn(planned_tasks()), name_of);
INSTANTIATE_TEST_SUITE_P(Tasks, AuthorCudaCompile, testing::ValuesIn(planned_tasks()), name_of);
INSTANTIATE_TEST_SUITE_P(Tasks, AuthorCudaOnGpu, testing::ValuesIn(planned_tasks()), name_of);

}  // namespace
}  // namespace specgen
