#include "cli/model_check.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"

namespace specgen {
namespace {

ModelDiagnosis diagnosis() {
  ModelDiagnosis it;
  it.spec = "glm";
  it.profile = "vllm";
  it.url = "http://gpu1:8000/v1";
  it.report.steps = {
      {"reachable", "server", ProbeFinding::good, "1 model", ""},
      {"streams", "streaming", ProbeFinding::good, "12 pieces", ""},
      {"fork", "forks", ProbeFinding::good, "raw_text: first token after 20.0 ms", ""},
      {"cache", "prefix cache", ProbeFinding::unknown, "not told", "switch it on"},
  };
  it.report.forks = {{ForkStrategy::token_ids, false, "no ids"},
                     {ForkStrategy::raw_text, true, "first token after 20.0 ms"}};
  it.report.traits.fork = ForkStrategy::raw_text;
  it.cost = {.calls = 5, .prompt_tokens = 900, .completion_tokens = 70, .dollars = 0.01};
  return it;
}

TEST(ModelCheckText, reads_well) {
  EXPECT_EQ(model_check_text(diagnosis(), false),
            "glm at http://gpu1:8000/v1 (profile vllm)\n"
            "  ✓ server        1 model\n"
            "  ✓ streaming     12 pieces\n"
            "  ✓ forks         raw_text: first token after 20.0 ms\n"
            "                  not token_ids: no ids\n"
            "  ? prefix cache  not told\n"
            "                  fix: switch it on\n"
            "\n"
            "usable: forks by raw_text\n"
            "probe cost: 5 calls, 900 + 70 tokens, $0.0100\n");
}

TEST(ModelCheckText, of_a_server_that_cannot_be_used_says_so) {
  ModelDiagnosis it = diagnosis();
  it.report.traits.fork.reset();
  EXPECT_TRUE(model_check_text(it, false).contains("not usable"));
}

TEST(ModelCheckJson, is_one_document_of_its_schema) {
  auto parsed = parse_json(model_check_json(diagnosis()));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->at("schema"), "specgen.model-check");
  EXPECT_EQ(parsed->at("usable"), true);
  EXPECT_EQ(parsed->at("fork"), "raw_text");
  EXPECT_EQ(parsed->at("steps").as_array().size(), 4U);
  EXPECT_EQ(parsed->at("steps").at(3).at("finding"), "not_told");
  EXPECT_EQ(parsed->at("forks").at(0).at("works"), false);
  EXPECT_EQ(parsed->at("cost").at("calls"), 5);
}

}  // namespace
}  // namespace specgen
