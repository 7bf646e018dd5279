// `specgen tasks` and `specgen new` as a user calls them.

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/json.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

constexpr std::size_t kShipped = 12;

class Tasks : public testing::Test {
 protected:
  Finished specgen(Arguments arguments) {
    arguments.insert(arguments.begin(), SPECGEN_BINARY);
    return host_.run(std::move(arguments));
  }
  Json json_of(const Finished& finished) {
    auto json = parse_json(finished.output);
    EXPECT_TRUE(json.has_value()) << finished.output << finished.error_output;
    return json ? *json : Json{{"tasks", boost::json::array()}};
  }
  ProgramFixture host_{SPECGEN_TEST_CACHE};
};

TEST_F(Tasks, that_ship_are_listed_and_nothing_of_them_is_run) {
  // A compiler that leaves a mark when it is called.
  std::string mark = (host_.folder.path() / "called").string();
  for (const char* name : {"g++", "c++", "clang++", "cc", "gcc"}) {
    host_.folder.add(name, "touch " + mark + "; exit 1");
  }
  host_.set("PATH", host_.folder.path().string() + ":/usr/bin:/bin");
  Finished finished = specgen({"tasks", SPECGEN_SOURCE_DIR "/tasks"});
  EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
  EXPECT_EQ(finished.error_output, "");
  EXPECT_TRUE(finished.output.ends_with("\n12 tasks\n")) << finished.output;
  EXPECT_FALSE(fs::exists(mark));
  EXPECT_EQ(specgen({"tasks"}).output, finished.output) << "they are found without being named";
}

TEST_F(Tasks, as_json_have_a_row_for_every_variant) {
  Json json = json_of(specgen({"tasks", SPECGEN_SOURCE_DIR "/tasks", "--json"}));
  EXPECT_EQ(text_at(json, "schema"), "specgen.tasks");
  std::set<std::string> folders;
  bool has_variant = false;
  for (const Json& row : json.at("tasks").as_array()) {
    folders.insert(text_at(row, "folder"));
    has_variant = has_variant || text_at(row, "name") == "softmax:f16";
    EXPECT_TRUE(row.at("admitted").is_null()) << "it was not checked";
    EXPECT_TRUE(row.at("problem").is_null());
  }
  EXPECT_EQ(folders.size(), kShipped);
  EXPECT_TRUE(has_variant);
}

TEST_F(Tasks, that_are_broken_are_listed_with_their_problem_beside_the_good_ones) {
  SmallTask good, bad;
  bad.toml = replaced(bad.toml, "[check]", "[check");
  host_.write("all/good", good);
  host_.write("all/bad", bad);
  Finished finished = specgen({"tasks", "all", "--json"});
  EXPECT_EQ(finished.exit.code, 2);
  Json json = json_of(finished);
  ASSERT_EQ(json.at("tasks").as_array().size(), 3U) << "one that is broken, two variants";
  EXPECT_EQ(text_at(json.at("tasks").at(0), "name"), "bad");
  EXPECT_EQ(json.at("tasks").at(0).at("admitted"), false);
  EXPECT_NE(text_at(json.at("tasks").at(0), "problem").find("task.toml:"), std::string::npos);
  EXPECT_TRUE(json.at("tasks").at(1).at("problem").is_null());
}

TEST_F(Tasks, that_are_not_there_are_bad_usage) {
  host_.write("empty/nothing.txt", "x");
  for (const char* folder : {"empty", "nowhere", "empty/nothing.txt"}) {
    Finished finished = specgen({"tasks", folder});
    EXPECT_EQ(finished.exit.code, 2) << folder;
    EXPECT_EQ(finished.output, "");
    EXPECT_NE(finished.error_output.find("what to do"), std::string::npos);
  }
}

TEST_F(Tasks, that_are_new_are_admitted_as_they_stand) {
  Finished written = specgen({"new", "deep/my_task2"});
  ASSERT_EQ(written.exit.code, 0) << written.error_output;
  EXPECT_NE(written.output.find("specgen tasks deep/my_task2 --check"), std::string::npos);
  for (const char* file : {"task.toml", "reference.cc", "baseline.cc", "baseline.cu"}) {
    auto text = read_file(host_.folder.path() / "deep" / "my_task2" / file);
    ASSERT_TRUE(text.has_value()) << file;
    EXPECT_EQ(text->find("NAME"), std::string::npos) << file;
  }
  Finished checked = specgen({"tasks", "deep/my_task2", "--check", "--json"});
  EXPECT_EQ(checked.exit.code, 0) << checked.output << checked.error_output;
  EXPECT_EQ(checked.error_output, "") << "progress without a terminal";
  Json row = json_of(checked).at("tasks").at(0);
  EXPECT_EQ(row.at("admitted"), true) << checked.output;
  EXPECT_EQ(text_at(row, "name"), "my_task2");
  EXPECT_GT(int_at(row, "checks"), 10);
}

TEST_F(Tasks, new_overwrites_nothing) {
  std::string file = host_.write("taken/precious", "mine");
  host_.write("file", "mine too");
  for (const char* name : {"taken", "file"}) {
    Finished finished = specgen({"new", name});
    EXPECT_EQ(finished.exit.code, 2) << name;
    EXPECT_NE(finished.error_output.find("exists already"), std::string::npos);
  }
  EXPECT_EQ(read_file(file).value_or(""), "mine");
  EXPECT_FALSE(fs::exists(host_.folder.path() / "taken" / "task.toml"));
}

TEST_F(Tasks, new_takes_only_names_that_a_function_may_have) {
  for (const char* name :
       {"", ".", "..", "int", "a-b", "9lives", "with space", "a/b/", "tä", "x;y", "-x"}) {
    Finished finished = specgen({"new", name});
    EXPECT_EQ(finished.exit.code, 2) << name << finished.output;
  }
  std::size_t made = 0;
  for (const auto& entry : fs::directory_iterator(host_.folder.path()))
    made += entry.is_directory();
  EXPECT_EQ(made, 0U) << "something was written";
}

TEST_F(Tasks, new_that_cannot_write_says_so) {
  host_.write("file", "in the way");
  Finished finished = specgen({"new", "file/task"});
  EXPECT_NE(finished.exit.code, 0);
  EXPECT_NE(finished.error_output.find("error E"), std::string::npos) << finished.error_output;
}

TEST_F(Tasks, whose_checker_is_too_loose_are_refused_with_the_cheat_named) {
  SmallTask loose;
  loose.toml = replaced(loose.toml, "reduction = \"2\"", "reduction = \"2\"\ntolerance = 1e9");
  loose.toml = replaced(loose.toml, "[\"f32\", \"f64\"]", "[\"f32\"]");
  host_.write("loose", loose);
  Finished finished = specgen({"tasks", "loose", "--check"});
  EXPECT_EQ(finished.exit.code, 2) << finished.output;
  EXPECT_NE(finished.output.find("zeros is accepted [n="), std::string::npos) << finished.output;
  EXPECT_NE(finished.output.find("0 tasks admitted, 1 refused"), std::string::npos);
  Json row = json_of(specgen({"tasks", "loose", "--check", "--json"})).at("tasks").at(0);
  EXPECT_EQ(row.at("admitted"), false);
}

TEST_F(Tasks, whose_cuda_baseline_computes_something_else_are_not_reported_as_admitted_for_cuda) {
  SmallTask task;
  task.toml = replaced(task.toml, "[\"f32\", \"f64\"]", "[\"f32\"]");
  host_.write("all/odd", task);
  host_.write("all/odd/baseline.cu",
              "// specgen:launch zeros<<<ceildiv(n, 256), 256>>>(y, n)\n"
              "extern \"C\" __global__ void zeros(float* y, int n) {\n"
              "  int i = blockIdx.x * 256 + threadIdx.x;\n"
              "  if (i < n) y[i] = 0;\n"
              "}\n");
  Finished finished = specgen({"tasks", "all", "--check", "--json"});
  Json row = json_of(finished).at("tasks").at(0);
  EXPECT_EQ(text_at(row.at("baselines"), "cpu"), "admitted") << finished.output;
  const std::string cuda = text_at(row.at("baselines"), "cuda");
  if (cuda == "not checked: no GPU") {
    EXPECT_EQ(row.at("admitted"), true) << "the CPU baseline is";
    std::string text = specgen({"tasks", "all", "--check"}).output;
    EXPECT_NE(text.find("(cuda not checked)"), std::string::npos) << text;
    EXPECT_NE(text.find("; 1 cuda baselines not checked: no GPU"), std::string::npos) << text;
  } else {
    EXPECT_TRUE(cuda.starts_with("refused: ")) << cuda;
    EXPECT_NE(cuda.find("the cuda baseline is judged wrong"), std::string::npos) << cuda;
    EXPECT_EQ(row.at("admitted"), false);
    EXPECT_EQ(finished.exit.code, 2);
  }
}

TEST_F(Tasks, whose_parts_fail_are_refused_and_the_others_are_still_checked) {
  SmallTask crashes, good;
  for (SmallTask* task : {&crashes, &good}) {
    task->toml = replaced(task->toml, "[\"f32\", \"f64\"]", "[\"f32\"]");
  }
  crashes.reference = replaced(crashes.reference, "y[i] = a", "__builtin_trap(); y[i] = a");
  host_.write("all/a_crashes", crashes);
  host_.write("all/b_good", good);
  Finished finished = specgen({"tasks", "all", "--check", "--json"});
  EXPECT_EQ(finished.exit.code, 2);
  Json rows = json_of(finished).at("tasks");
  ASSERT_EQ(rows.as_array().size(), 2U);
  EXPECT_EQ(rows.at(0).at("admitted"), false);
  EXPECT_NE(text_at(rows.at(0), "problem").find("reference.cc"), std::string::npos);
  EXPECT_EQ(rows.at(1).at("admitted"), true) << finished.output;
}

}  // namespace
}  // namespace specgen
