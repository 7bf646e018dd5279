#include "evaluate/task/kernel_task.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/temporary_folder.h"
#include "evaluate/task/distribution.h"

namespace specgen {
namespace {
namespace fs = std::filesystem;

// The example of docs/reference/tasks.md.
constexpr std::string_view kSoftmax = R"toml(name = "softmax"
summary = "softmax of each row"
level = 1
elements = ["f32", "f16"]

[axes.rows]
hidden = [1, 300]
[axes.cols]
hidden = [1, 3000]
multiple = 1

[[input]]
name = "x"
dtype = "T"
shape = ["rows", "cols"]
data = ["normal(0, 1)", "uniform(-30, 30)"]

[[output]]
name = "y"
dtype = "T"
shape = ["rows", "cols"]

[[scalar]]
name = "eps"
value = 1e-5

[[case]]
axes = { rows = 64, cols = 1000 }
[[case]]
axes = { rows = 1024, cols = 2048 }
weight = 1.0
backends = ["cpu"]

[hidden]
cases = 4
elements = 4194304

[cost]
bytes = "2 * rows * cols * sizeof_T"
flops = "5 * rows * cols"
rate = "f32"

[check]
reduction = "cols"
tolerance = 8
precision = "f32"
sampled = false
deterministic = false

[compile]
cpu_flags = ["-ffast-math"]

[vendor]
torch = "torch.softmax(x, dim=1)"
)toml";

class KernelTaskTest : public testing::Test {
 protected:
  void write(const fs::path& path, std::string_view text) {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  fs::path root() const { return folder_->path(); }

  void write_task(const fs::path& name, std::string_view toml = kSoftmax) {
    write(name / "task.toml", toml);
    write(name / "reference.cc", "void reference() {}\n");
    write(name / "baseline.cc", "void softmax() {}\n");
  }
  Result<KernelTask> load(const std::string& where = "softmax") {
    return load_task((root() / where).string());
  }

  // The error for the example with one text replaced, without the folder.
  std::string mistake(std::string_view before, std::string_view after) {
    std::string toml(kSoftmax);
    std::size_t at = toml.find(before);
    EXPECT_NE(at, std::string::npos) << before;
    write_task("softmax", toml.replace(at, before.size(), after));
    auto task = load();
    if (task) return "none";
    EXPECT_EQ(task.error().code, ErrorCode::bad_task);
    EXPECT_EQ(task.error().exit_code(), ExitCode::usage);
    std::string text = task.error().context;
    std::string prefix = (root() / "softmax/").string();
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }

  Result<TemporaryFolder> folder_ = TemporaryFolder::make();
};

TEST_F(KernelTaskTest, the_example_of_the_manual_loads) {
  write_task("softmax");
  auto task = load();
  ASSERT_TRUE(task) << task.error().text();
  EXPECT_EQ(task->title(), "softmax");
  EXPECT_EQ(task->variant, "f32");
  ASSERT_EQ(task->axes.size(), 2U);
  EXPECT_EQ(task->axes[0].name, "rows");  // in the order of the file, which is that of parameters
  EXPECT_EQ(task->axes[1].high, 3000);
  ASSERT_EQ(task->inputs.size(), 1U);
  EXPECT_EQ(task->inputs[0].data[1], (Distribution{Distribution::Kind::uniform, -30, 30}));
  EXPECT_EQ(task->outputs[0].shape[1].text(), "cols");
  EXPECT_EQ(task->scalars[0].value, 1e-5);
  ASSERT_EQ(task->cases.size(), 2U);
  EXPECT_EQ(task->cases[0].backends, (std::vector{Backend::cpu, Backend::cuda}));
  EXPECT_EQ(task->cases[1].backends, std::vector{Backend::cpu});
  EXPECT_EQ(task->cases[1].weight, 1);
  EXPECT_EQ(task->check.unit_roundoff, 0x1p-24);
  EXPECT_EQ(task->cpu_flags, std::vector<std::string>{"-ffast-math"});
  EXPECT_EQ(task->vendor, "torch.softmax(x, dim=1)");
  EXPECT_TRUE(task->has(Backend::cpu));
  EXPECT_FALSE(task->has(Backend::cuda));
}

TEST_F(KernelTaskTest, a_variant_is_another_element_type) {
  write_task("softmax");
  auto task = load("softmax:f16");
  ASSERT_TRUE(task) << task.error().text();
  EXPECT_EQ(task->title(), "softmax:f16");
  EXPECT_EQ(task->inputs[0].dtype, Dtype::f16);
  EXPECT_EQ(load("softmax:f32")->title(), "softmax");
  auto unknown = load("softmax:bf16");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().context.contains("'bf16' is not a variant of this task"))
      << unknown.error().context;
  EXPECT_FALSE(load("softmax:"));
  write_task("a:b");  // a folder may have a colon in its name
  EXPECT_TRUE(load("a:b"));
  EXPECT_EQ(load("a:b:f16")->title(), "softmax:f16");
}

TEST_F(KernelTaskTest, a_misspelt_key_is_reported_as_such) {
  EXPECT_EQ(mistake("shape = [\"rows\", \"cols\"]\ndata", "shpae = [\"rows\", \"cols\"]\ndata"),
            "task.toml:15: there is no key 'shpae'; did you mean 'shape'?");
  EXPECT_EQ(mistake("tolerance = 8", "tolerence = 8"),
            "task.toml:45: there is no key 'tolerence'; did you mean 'tolerance'?");
}

TEST_F(KernelTaskTest, what_is_missing_is_named_with_its_table) {
  EXPECT_EQ(mistake("dtype = \"T\"\n", ""), "task.toml:12: 'dtype' is missing");
  EXPECT_EQ(mistake("name = \"softmax\"\n", ""), "task.toml:1: 'name' is missing");
  EXPECT_EQ(mistake("data = [\"normal(0, 1)\", \"uniform(-30, 30)\"]\n", ""),
            "task.toml:12: 'data' is missing");
  EXPECT_EQ(mistake("hidden = [1, 300]\n", ""), "task.toml:6: 'hidden' is missing: [least, most]");
}

TEST_F(KernelTaskTest, invalid_values_are_refused_with_their_line) {
  EXPECT_EQ(mistake("level = 1", "level = 4"), "task.toml:3: 'level' is 1, 2 or 3");
  EXPECT_EQ(mistake("\"f16\"]", "\"fp16\"]"),
            "task.toml:4: 'fp16' is not a dtype; did you mean 'f16'?");
  EXPECT_EQ(mistake("[1, 300]", "[300, 1]"),
            "task.toml:7: 'hidden' is [least, most], within 1 and 2^40");
  EXPECT_EQ(mistake("[1, 300]", "[1, 2.5]"),
            "task.toml:7: 'hidden' must be a list of integers, not a list");
  EXPECT_EQ(mistake("hidden = [1, 3000]\nmultiple = 1", "hidden = [5, 7]\nmultiple = 4"),
            "task.toml:9: no multiple of 4 lies within [5, 7]");
  EXPECT_EQ(mistake("[\"rows\", \"cols\"]", "[\"rows\", \"cosl\"]"),
            "task.toml:15: 'cosl' is not an axis; did you mean 'cols'?");
  EXPECT_EQ(mistake("[\"rows\", \"cols\"]", "[\"rows\", \"(cols\"]"),
            "task.toml:15: '(cols' at 6: ')' is expected");
  EXPECT_EQ(mistake("5 * rows * cols", "5 * rows * eps"), "task.toml:40: 'eps' is not an axis");
  EXPECT_EQ(mistake("weight = 1.0", "weight = -1"), "task.toml:31: 'weight' must be 0 or more");
  EXPECT_EQ(mistake("[\"cpu\"]", "[\"gpu\"]"),
            "task.toml:32: 'gpu' is not a backend; did you mean 'cpu'?; there are cpu, cuda");
  EXPECT_EQ(mistake("precision = \"f32\"", "precision = \"fp8\""),
            "task.toml:46: 'fp8' is not a precision; there are f32, tf32, f16, bf16, f64");
  EXPECT_EQ(mistake("value = 1e-5", "value = nan"), "task.toml:25: 'value' must be finite");
  EXPECT_EQ(mistake("cases = 4", "cases = 1000"), "task.toml:35: 'cases' must be within 0 and 64");
  EXPECT_EQ(mistake("-ffast-math", "main.cc"),
            "task.toml:51: 'main.cc' is not a flag: it has no '-'");
}

TEST_F(KernelTaskTest, names_are_identifiers_and_each_is_there_once) {
  EXPECT_EQ(mistake("\"eps\"", "\"x\""), "task.toml:24: the name 'x' is taken");
  EXPECT_EQ(mistake("\"eps\"", "\"rows\""), "task.toml:24: the name 'rows' is taken");
  EXPECT_EQ(mistake("\"eps\"", "\"softmax\""), "task.toml:24: the name 'softmax' is taken");
  EXPECT_EQ(mistake("\"eps\"", "\"e ps\""), "task.toml:24: 'e ps' cannot name a variable of C");
  EXPECT_EQ(mistake("\"eps\"", "\"tid\""), "task.toml:24: 'tid' means something else");
  EXPECT_EQ(mistake("\"eps\"", "\"float\""), "task.toml:24: 'float' means something else");
  EXPECT_EQ(mistake("\"softmax\"", "\"int\""), "task.toml:1: 'int' cannot name a function of C");
  EXPECT_EQ(mistake("\"softmax\"", "\"../softmax\""),
            "task.toml:1: '../softmax' cannot name a function of C");
  EXPECT_EQ(mistake("[axes.rows]", "[axes.\"x.0\"]"),
            "task.toml:6: 'x.0' cannot name a variable of C");
}

TEST_F(KernelTaskTest, cases_must_be_possible) {
  EXPECT_EQ(mistake("rows = 64, cols", "rows = 64, cosl"),
            "task.toml:28: 'cosl' is not an axis; did you mean 'cols'?");
  EXPECT_EQ(mistake("rows = 64, ", ""), "task.toml:28: axis rows has no length");
  EXPECT_EQ(mistake("rows = 64", "rows = 0"),
            "task.toml:28: axis rows = 0 is not within 1 and 2^40");
  EXPECT_EQ(mistake("rows = 64", "rows = 1099511627776"), "task.toml:28: x has more than 64 GiB");
  EXPECT_EQ(mistake("[\"rows\", \"cols\"]", "[\"rows - 64\", \"cols\"]"),
            "task.toml:28: zero-size shape of x: 'rows - 64' is 0");
  EXPECT_EQ(mistake("reduction = \"cols\"", "reduction = \"cols / 5000\""),
            "task.toml:28: reduction 'cols / 5000' is 0");
}

TEST_F(KernelTaskTest, a_task_needs_input_output_case_reference_and_baseline) {
  write_task("empty", "name = \"empty\"\n[hidden]\ncases = 0\n");
  EXPECT_TRUE(load("empty").error().context.contains("there is no [[input]]"));
  std::string toml(kSoftmax);
  write("softmax/task.toml", toml);
  EXPECT_TRUE(load().error().context.ends_with("there is no reference.cc"));
  write("softmax/reference.cc", "void reference() {}\n");
  EXPECT_TRUE(load().error().context.ends_with("neither a baseline.cc nor a baseline.cu"));
  write("softmax/baseline.cu", " \n");
  EXPECT_TRUE(load().error().context.ends_with("baseline.cu: the file is empty"));
  write("softmax/baseline.cu", "__global__ void softmax() {}\n");
  EXPECT_TRUE(load()->has(Backend::cuda));
  auto absent = load("nothing");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::bad_task);
}

TEST_F(KernelTaskTest, what_is_not_toml_is_a_mistake_in_the_task) {
  EXPECT_TRUE(mistake("name = \"softmax\"", "name = ").starts_with("task.toml:1: "));
}

TEST_F(KernelTaskTest, tasks_are_listed_by_name_with_those_that_do_not_load) {
  write_task("zeta");
  write_task("level1/beta");
  write_task("level1/alpha", "name = 7\n");
  write_task("level1/beta/inner");  // inside a task there are no tasks
  write_task("a/b/too_deep");
  write_task(".hidden");
  write("notes/readme.md", "nothing\n");
  auto all = list_tasks(root());
  ASSERT_TRUE(all) << all.error().text();
  ASSERT_EQ(all->size(), 3U);
  EXPECT_EQ((*all)[0].folder, root() / "level1/alpha");
  EXPECT_FALSE((*all)[0].task);
  EXPECT_EQ((*all)[1].folder, root() / "level1/beta");
  EXPECT_TRUE((*all)[1].task);
  EXPECT_EQ((*all)[2].folder, root() / "zeta");
  EXPECT_EQ(list_tasks(root() / "zeta")->size(), 1U);
  EXPECT_FALSE(list_tasks(root() / "nowhere"));
  EXPECT_TRUE(list_tasks(root() / "notes")->empty());
}

TEST(DistributionText, goes_both_ways) {
  for (const char* text :
       {"normal(0, 1)", "uniform(-1.5, 1)", "heavy(1)", "positive(0.5, 2)", "integers(0, 10)"}) {
    auto distribution = parse_distribution(text);
    ASSERT_TRUE(distribution) << text;
    EXPECT_EQ(distribution->text(), text);
  }
  EXPECT_EQ(parse_distribution(" uniform( -1 ,1e3 ) ")->text(), "uniform(-1, 1000)");
}

TEST(DistributionText, mistakes_say_what_to_write) {
  auto error_of = [](std::string_view text) {
    auto distribution = parse_distribution(text);
    return distribution ? "none" : distribution.error().context;
  };
  EXPECT_EQ(error_of("nromal(0, 1)"), "there is no distribution 'nromal'; did you mean 'normal'?");
  EXPECT_EQ(error_of("normal(0)"), "'normal(0)': write normal(mean, deviation)");
  EXPECT_EQ(error_of("heavy"), "'heavy': write heavy(scale)");
  EXPECT_EQ(error_of("heavy(1"), "'heavy(1': write heavy(scale)");
  EXPECT_EQ(error_of("normal(0, x)"), "'normal(0, x)': 'x' is not a number");
  EXPECT_EQ(error_of("normal(0, inf)"), "'normal(0, inf)': 'inf' is not a number");
  EXPECT_EQ(error_of("normal(0, -1)"), "'normal(0, -1)': the deviation must be above 0");
  EXPECT_EQ(error_of("uniform(1, 1)"), "'uniform(1, 1)': low must be below high");
  EXPECT_EQ(error_of("uniform(-1e308, 1e308)"), "'uniform(-1e308, 1e308)': the range is too wide");
  EXPECT_EQ(error_of("positive(0, 1)"), "'positive(0, 1)': low must be above 0");
  EXPECT_EQ(error_of("integers(0, 1.5)"), "'integers(0, 1.5)': both must be integers");
  EXPECT_EQ(error_of("integers(0, 1e17)"), "'integers(0, 1e17)': both must be at most 2^53");
}

TEST(DistributionText, numbers_must_fit_the_dtype) {
  auto fits = [](std::string_view text, Dtype dtype) {
    return check_fits(parse_distribution(text).value(), dtype).has_value();
  };
  EXPECT_TRUE(fits("normal(0, 10000)", Dtype::f16));
  EXPECT_FALSE(fits("normal(0, 20000)", Dtype::f16));
  EXPECT_TRUE(fits("heavy(290)", Dtype::f16));
  EXPECT_FALSE(fits("heavy(300)", Dtype::f16));
  EXPECT_TRUE(fits("heavy(300)", Dtype::bf16));
  EXPECT_FALSE(fits("uniform(-3e38, 3e38)", Dtype::f32));
  EXPECT_TRUE(fits("integers(0, 256)", Dtype::u8));
  EXPECT_FALSE(fits("integers(0, 257)", Dtype::u8));
  EXPECT_FALSE(fits("integers(-1, 1)", Dtype::u8));
  EXPECT_TRUE(fits("integers(-2147483648, 2147483648)", Dtype::i32));
  EXPECT_FALSE(fits("normal(0, 1)", Dtype::i32));
}

}  // namespace
}  // namespace specgen
