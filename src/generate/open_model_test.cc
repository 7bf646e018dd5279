#include "generate/open_model.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <fstream>

#include "base/temporary_folder.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

const std::string kSecret = "sk-test-9876543210";

class OpenModel : public testing::Test {
 protected:
  Result<std::unique_ptr<Model>> open(std::string_view spec, std::vector<NamedModel> named = {}) {
    return open_model(services_, spec, named);
  }
  Error error_of(std::string_view spec, std::vector<NamedModel> named = {}) {
    auto model = open(spec, std::move(named));
    if (model) {
      ADD_FAILURE() << spec << " was accepted";
      return {};
    }
    EXPECT_FALSE(model.error().text().contains(kSecret)) << model.error().text();
    EXPECT_FALSE(model.error().what_to_do().empty());
    return model.error();
  }
  std::string key_file(std::string_view content, mode_t mode) {
    std::string path = (folder_.path() / "key").string();
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
    return path;
  }

  RealRuntime runtime_;
  CallLedger ledger_;
  ModelServices services_{runtime_.loop, runtime_.driver, ledger_};
  TemporaryFolder folder_{TemporaryFolder::make().value()};
};

TEST_F(OpenModel, opens_a_name_and_a_url) {
  auto model = open("openai:Qwen/Qwen3-8B@http://127.0.0.1:8000/v1");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ((*model)->info().name, "openai:Qwen/Qwen3-8B@http://127.0.0.1:8000/v1");
  EXPECT_TRUE((*model)->info().is_language_model);
}

TEST_F(OpenModel, opens_the_author_at_a_pace) {
  auto author = open("author");
  ASSERT_TRUE(author) << author.error().text();
  EXPECT_FALSE((*author)->info().is_language_model);
  EXPECT_TRUE(open("author:instant"));
  EXPECT_EQ(error_of("author:sideways").exit_code(), ExitCode::usage);
}

TEST_F(OpenModel, opens_a_cassette) {
  EXPECT_EQ(error_of("cassette:/nowhere.cassette").exit_code(), ExitCode::usage);
  EXPECT_NE(error_of("cassette:" + key_file("no cassette", 0600)).exit_code(), ExitCode::failed);
}

TEST_F(OpenModel, says_what_is_wrong_with_a_spec) {
  EXPECT_EQ(error_of("openai:x").code, ErrorCode::unknown_model);
  EXPECT_EQ(error_of("openai:@http://h/v1").code, ErrorCode::unknown_model);
  EXPECT_EQ(error_of("openai:x@localhost:8000").code, ErrorCode::bad_url);
  EXPECT_EQ(error_of("openai:x@http://h:99999/v1").exit_code(), ExitCode::usage);
  EXPECT_EQ(error_of("").exit_code(), ExitCode::usage);
}

TEST_F(OpenModel, an_unknown_name_has_a_suggestion) {
  NamedModel glm{.name = "glm", .url = "http://h/v1"};
  Error error = error_of("gml", {glm});
  EXPECT_EQ(error.code, ErrorCode::unknown_model);
  EXPECT_EQ(error.exit_code(), ExitCode::usage);
  EXPECT_TRUE(error.context.contains("did you mean 'glm'?")) << error.context;
  EXPECT_TRUE(error_of("opnai:x@http://h").context.contains("'openai:'"));
}

TEST_F(OpenModel, an_unknown_profile_or_fork_has_a_suggestion) {
  NamedModel model{.name = "m", .url = "http://h/v1", .profile = "sglan"};
  EXPECT_TRUE(error_of("m", {model}).context.contains("'sglang'"));
  model = {.name = "m", .url = "http://h/v1", .fork = "raw_txt"};
  EXPECT_TRUE(error_of("m", {model}).context.contains("'raw_text'"));
}

TEST_F(OpenModel, a_missing_key_is_named_by_its_variable) {
  ::unsetenv("SPECGEN_TEST_KEY");
  NamedModel model{.name = "m", .url = "http://h/v1", .key_env = "SPECGEN_TEST_KEY"};
  Error error = error_of("m", {model});
  EXPECT_EQ(error.code, ErrorCode::key_missing);
  EXPECT_EQ(error.exit_code(), ExitCode::environment);
  EXPECT_TRUE(error.text().contains("SPECGEN_TEST_KEY"));
  ::setenv("SPECGEN_TEST_KEY", kSecret.c_str(), 1);
  EXPECT_TRUE(open("m", {model}));
  ::setenv("SPECGEN_TEST_KEY", (kSecret + "\r\nX-Evil: 1").c_str(), 1);
  EXPECT_EQ(error_of("m", {model}).code, ErrorCode::key_missing);
  ::setenv("SPECGEN_TEST_KEY", "  ", 1);
  EXPECT_EQ(error_of("m", {model}).code, ErrorCode::key_missing);
  ::unsetenv("SPECGEN_TEST_KEY");
}

TEST_F(OpenModel, a_key_file_that_others_can_read_is_refused) {
  NamedModel model{.name = "m", .url = "http://h/v1", .key_file = key_file(kSecret + "\n", 0644)};
  Error error = error_of("m", {model});
  EXPECT_EQ(error.code, ErrorCode::key_missing);
  EXPECT_TRUE(error.what_to_do().starts_with("chmod 600 ")) << error.text();
  key_file(kSecret + "\n", 0600);
  EXPECT_TRUE(open("m", {model}));
  key_file("\n", 0600);
  EXPECT_EQ(error_of("m", {model}).code, ErrorCode::key_missing);
  model.key_file = "/nowhere/key";
  EXPECT_EQ(error_of("m", {model}).exit_code(), ExitCode::environment);
}

TEST_F(OpenModel, models_of_one_endpoint_share_its_gate) {
  auto first = open("openai:a@http://h:1/v1"), second = open("openai:b@http://h:1/v1");
  auto third = open("openai:c@http://h:2/v1");
  EXPECT_EQ(services_.gates.size(), 2U);
}

}  // namespace
}  // namespace specgen
