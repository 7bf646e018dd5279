#include "cli/doctor_model.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"

namespace specgen {
namespace {

ModelDiagnosis diagnosis() {
  ModelDiagnosis made;
  made.spec = "glm";
  made.profile = "vllm";
  made.url = "http://gpu1:8000/v1";
  made.report.steps = {
      {"reachable", "server", ProbeFinding::good, "1 model", ""},
      {"streams", "streaming", ProbeFinding::good, "12 pieces", ""},
      {"fork", "forks", ProbeFinding::good, "raw_text: first token after 20.0 ms", ""},
      {"cache", "prefix cache", ProbeFinding::unknown, "not told", "switch it on"},
  };
  made.report.forks = {{ForkStrategy::token_ids, false, "no ids"},
                       {ForkStrategy::raw_text, true, "first token after 20.0 ms"}};
  made.report.traits.fork = ForkStrategy::raw_text;
  made.cost = {.calls = 5, .prompt_tokens = 900, .completion_tokens = 70, .dollars = 0.01};
  return made;
}

TEST(ModelDoctorText, reads_well) {
  EXPECT_EQ(model_doctor_text(diagnosis(), false),
            "glm at http://gpu1:8000/v1 (profile vllm)\n"
            "  ✓ server        1 model\n"
            "  ✓ streaming     12 pieces\n"
            "  ✓ forks         raw_text: first token after 20.0 ms\n"
            "                  not token_ids: no ids\n"
            "  ? prefix cache  not told\n"
            "                  fix: switch it on\n"
            "\n"
            "usable: forks by raw_text\n"
            "cost of this look: 5 calls, 900 + 70 tokens, $0.0100\n");
}

TEST(ModelDoctorText, of_a_server_that_cannot_be_used_says_so) {
  ModelDiagnosis made = diagnosis();
  made.report.traits.fork.reset();
  EXPECT_TRUE(model_doctor_text(made, false).contains("not usable"));
}

TEST(ModelDoctorJson, is_one_document_of_its_schema) {
  auto parsed = parse_json(model_doctor_json(diagnosis()));
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
