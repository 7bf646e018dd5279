#include "cli/settings.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Error error_of(std::string_view text) {
  auto settings = parse_settings(text, "specgen.toml");
  if (settings) {
    ADD_FAILURE() << "this was accepted:\n" << text;
    return {};
  }
  return settings.error();
}

TEST(Settings, of_an_empty_file_are_the_defaults) {
  auto settings = parse_settings("", "specgen.toml");
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->compiler, "");
  EXPECT_EQ(settings->python, "python3");
  EXPECT_EQ(settings->ncu, "ncu");
  EXPECT_EQ(settings->runs_folder, "specgen-runs");
  EXPECT_EQ(settings->min_free, GiB(2));
}

TEST(Settings, every_key_reaches_the_probe) {
  auto settings = parse_settings(
      "[tools]\ncompiler = \"clang++-19\"\npython = \"venv/bin/python\"\nncu = \"/opt/ncu\"\n"
      "[runs]\nfolder = \"/data/runs\"\nmin_free = \"20GiB\"\n",
      "specgen.toml");
  ASSERT_TRUE(settings.has_value()) << settings.error().text();
  HostProbe probe = host_probe(*settings);
  EXPECT_EQ(probe.compilers, std::vector<std::string>{"clang++-19"});
  EXPECT_EQ(probe.python, "venv/bin/python");
  EXPECT_EQ(probe.ncu, "/opt/ncu");
  EXPECT_EQ(probe.runs_folder, "/data/runs");
  EXPECT_EQ(settings->min_free, GiB(20));
}

TEST(Settings, without_a_compiler_leave_the_usual_ones) {
  EXPECT_EQ(host_probe({}).compilers, (std::vector<std::string>{"g++", "clang++"}));
}

TEST(Settings, an_unknown_key_is_reported_with_its_line_and_the_nearest) {
  Error error = error_of("[tools]\npython = \"python3\"\ncompilr = \"g++\"\n");
  EXPECT_EQ(error.code, ErrorCode::bad_config);
  EXPECT_EQ(error.exit_code(), ExitCode::usage);
  EXPECT_EQ(error.context, "specgen.toml:3: there is no key 'compilr'; did you mean 'compiler'?");
  EXPECT_EQ(error_of("[tool]\n").context,
            "specgen.toml:1: there is no key 'tool'; did you mean 'tools'?");
}

TEST(Settings, a_size_must_be_one) {
  EXPECT_EQ(error_of("[runs]\n\nmin_free = \"lots\"\n").context,
            "specgen.toml:3: 'lots' is not a size; write a number of bytes, or a number with KiB, "
            "MiB, GiB or TiB");
  EXPECT_EQ(error_of("[runs]\nmin_free = \"\"\n").code, ErrorCode::bad_config);
  EXPECT_EQ(error_of("[runs]\nmin_free = 5\n").context,
            "specgen.toml:2: 'min_free' must be text, not an integer");
}

TEST(Settings, a_program_needs_a_name) {
  EXPECT_EQ(error_of("[tools]\nncu = \"\"\n").context, "specgen.toml:2: 'ncu' is empty");
  EXPECT_EQ(error_of("[tools]\npython = 3\n").context,
            "specgen.toml:2: 'python' must be text, not an integer");
}

TEST(Settings, name_models) {
  auto settings = parse_settings(
      "[models.glm]\nurl = \"https://api.z.ai/api/paas/v4\"\nmodel = \"glm-5.1\"\n"
      "profile = \"zai\"\nkey_env = \"ZAI_API_KEY\"\nhttp2 = true\npriorities = true\n"
      "prices = {prompt = 0.6, cached = 0.11, completion = 2}\nfork = \"raw_text\"\n"
      "max_concurrent = 8\n[models.local]\nurl = \"http://127.0.0.1:8000\"\n",
      "specgen.toml");
  ASSERT_TRUE(settings.has_value()) << settings.error().text();
  ASSERT_EQ(settings->models.size(), 2U);
  const NamedModel& glm = settings->models[0];
  EXPECT_EQ(glm.name, "glm");
  EXPECT_EQ(glm.model, "glm-5.1");
  EXPECT_EQ(glm.key_env, "ZAI_API_KEY");
  EXPECT_EQ(glm.prices.cached, 0.11);
  EXPECT_EQ(glm.prices.completion, 2);
  EXPECT_EQ(glm.max_concurrent, 8);
  EXPECT_TRUE(glm.http2 && glm.priorities);
  EXPECT_EQ(settings->models[1].model, "local") << "the name is what the server calls it";
}

TEST(Settings, mistakes_in_a_model_are_reported_with_their_line) {
  std::string start = "[models.m]\nurl = \"http://h/v1\"\n";
  EXPECT_TRUE(error_of("[models.m]\nurl = \"htp://h\"\n").context.starts_with("specgen.toml:2: "));
  EXPECT_TRUE(error_of(start + "profile = \"vlm\"\n").context.contains("did you mean 'vllm'?"));
  EXPECT_TRUE(error_of(start + "fork = \"magic\"\n").context.starts_with("specgen.toml:3: "));
  EXPECT_TRUE(error_of(start + "max_concurrent = 0\n").context.contains("from 1 to"));
  EXPECT_TRUE(error_of(start + "prices = {prompt = -1}\n").context.contains("below 0"));
  EXPECT_TRUE(error_of(start + "ulr = \"x\"\n").context.contains("did you mean 'url'?"));
  EXPECT_TRUE(error_of(start + "key_env = \"A\"\nkey_file = \"b\"\n").context.contains("both"));
  EXPECT_TRUE(error_of("[models.m]\nmodel = \"x\"\n").context.contains("no url"));
}

TEST(Settings, a_file_that_config_names_must_exist) {
  auto settings = load_settings("/nowhere/specgen.toml");
  ASSERT_FALSE(settings.has_value());
  EXPECT_EQ(settings.error().code, ErrorCode::file_not_found);
  EXPECT_EQ(settings.error().exit_code(), ExitCode::usage);
}

TEST(Settings, the_gate_of_speculation_is_as_the_user_wants_it) {
  Settings settings = parse_settings(
                          "[speculation]\ngap_tokens = 64\nmost_in_flight = 5\n"
                          "token_share = 0.25\nlongest_wait = \"10s\"\n",
                          "specgen.toml")
                          .value();
  EXPECT_EQ(settings.speculation.gate.gap_tokens, 64);
  EXPECT_EQ(settings.speculation.gate.max_in_flight, 5);
  EXPECT_EQ(settings.speculation.gate.token_share, 0.25);
  EXPECT_EQ(settings.speculation.gate.max_wait, std::chrono::seconds(10));
  EXPECT_EQ(settings.speculation.gate.probe_every, GateSettings().probe_every);
  for (const char* wrong :
       {"gap_tokens = -1", "token_share = -0.5", "longest_wait = \"soon\"", "gap = 3"}) {
    auto refused = parse_settings(std::string("[speculation]\n") + wrong, "specgen.toml");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_TRUE(refused.error().context.contains("specgen.toml:2")) << refused.error().context;
  }
}

TEST(Settings, the_population_of_evolution_is_as_the_user_wants_it) {
  Settings settings =
      parse_settings("[evolution]\nislands = 2\nrewrites = 0.5\n", "specgen.toml").value();
  EXPECT_EQ(settings.evolution.islands, 2u);
  EXPECT_EQ(settings.evolution.rewrites, 0.5);
  EXPECT_EQ(settings.evolution.archive, EvolutionSettings().archive);
  for (const char* wrong : {"islands = 0", "rewrites = 1.5", "exploit = 0.9", "island = 3"}) {
    auto refused = parse_settings(std::string("[evolution]\n") + wrong, "specgen.toml");
    ASSERT_FALSE(refused) << wrong;
    EXPECT_TRUE(refused.error().context.contains("specgen.toml:2")) << refused.error().context;
  }
}

}  // namespace
}  // namespace specgen
