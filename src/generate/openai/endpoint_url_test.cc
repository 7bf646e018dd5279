#include "generate/openai/endpoint_url.h"

#include <gtest/gtest.h>

#include "generate/openai/model_family.h"
#include "generate/openai/server_profile.h"

namespace specgen {
namespace {

TEST(EndpointUrl, has_a_base_an_origin_and_a_root) {
  auto url = parse_endpoint_url("https://host:8443/api/v1/");
  ASSERT_TRUE(url) << url.error().text();
  EXPECT_EQ(url->base, "https://host:8443/api/v1");
  EXPECT_EQ(url->origin, "https://host:8443");
  EXPECT_EQ(url->root, "https://host:8443/api");
  EXPECT_EQ(url->api("/models"), "https://host:8443/api/v1/models");
}

TEST(EndpointUrl, without_a_path_means_v1) {
  EXPECT_EQ(parse_endpoint_url("http://127.0.0.1:8000")->base, "http://127.0.0.1:8000/v1");
  EXPECT_EQ(parse_endpoint_url("http://[::1]:8000/")->base, "http://[::1]:8000/v1");
  EXPECT_EQ(parse_endpoint_url("https://api.z.ai/api/paas/v4")->root,
            "https://api.z.ai/api/paas/v4");
}

TEST(EndpointUrl, that_is_invalid_says_why) {
  for (std::string_view bad :
       {"", "host:8000", "ftp://host", "http://", "http:///v1", "http://ho st/", "http://h:0/",
        "http://h:99999/", "http://h:80x/", "http://[::1/", "http://[]/", "http://h/v1?key=x",
        "http://h/#x", "http://h/\n", "http://h:/v1x y"}) {
    auto url = parse_endpoint_url(bad);
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().exit_code(), ExitCode::usage) << bad;
  }
  EXPECT_FALSE(parse_endpoint_url("http://h/" + std::string(5000, 'x')));
}

TEST(EndpointUrl, with_a_password_is_refused_without_repeating_it) {
  auto url = parse_endpoint_url("https://me:hunter2@host/v1");
  ASSERT_FALSE(url);
  EXPECT_FALSE(url.error().text().contains("hunter2"));
}

TEST(ServerProfiles, are_found_by_name_and_by_host) {
  EXPECT_EQ((*find_profile("sglang"))->name, "sglang");
  auto unknown = find_profile("vlm");
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().context.contains("did you mean 'vllm'?")) << unknown.error().text();
  EXPECT_EQ(unknown.error().exit_code(), ExitCode::usage);
  EXPECT_EQ(guess_profile("https://api.z.ai/api/paas/v4").name, "zai");
  EXPECT_EQ(guess_profile("http://gpu1:8000/v1").name, "generic");
  EXPECT_EQ(guess_profile("https://evil.example/api.z.ai").name, "generic");
}

TEST(ServerProfiles, can_fall_back_to_user_turn) {
  for (const ServerProfile& profile : server_profiles()) {
    ASSERT_FALSE(profile.forks.empty()) << profile.name;
    if (!profile.is_language_model) continue;  // the author needs no fallback
    EXPECT_EQ(profile.forks.back(), ForkStrategy::user_turn) << profile.name;
    EXPECT_TRUE(std::ranges::find(profile.forks, profile.unprobed) != profile.forks.end());
  }
}

TEST(ForkStrategies, are_read_by_name) {
  for (auto strategy : {ForkStrategy::token_ids, ForkStrategy::raw_text, ForkStrategy::prefill,
                        ForkStrategy::thinking_off_quoted, ForkStrategy::user_turn}) {
    EXPECT_EQ(parse_fork_strategy(to_string(strategy)).value(), strategy);
  }
  EXPECT_TRUE(parse_fork_strategy("prefil").error().context.contains("'prefill'"));
}

TEST(ModelFamilies, are_found_by_name) {
  EXPECT_EQ(family_of("deepseek-ai/DeepSeek-R1-0528").name, "deepseek-r1");
  EXPECT_EQ(family_of("deepseek-v4-pro").name, "deepseek");
  EXPECT_EQ(family_of("zai-org/GLM-4.6").name, "glm-4.5");
  EXPECT_EQ(family_of("glm-5.1").name, "glm");
  EXPECT_EQ(family_of("Qwen/Qwen3-8B").name, "qwen3");
  EXPECT_EQ(family_of("Qwen3-235B-A22B-Thinking-2507").name, "qwen3-thinking");
  EXPECT_EQ(family_of("openai/gpt-oss-120b").name, "gpt-oss");
  EXPECT_EQ(family_of("my-own").name, "unknown");
}

TEST(ModelFamilies, all_close_what_they_open) {
  for (const ModelFamily& family : model_families()) {
    EXPECT_FALSE(family.opener.empty()) << family.name;
    EXPECT_FALSE(family.close.empty()) << family.name;
  }
}

}  // namespace
}  // namespace specgen
