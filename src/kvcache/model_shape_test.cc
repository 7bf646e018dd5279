#include "kvcache/model_shape.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

double bytes_of(std::string_view model) {
  return bytes_per_token(find_model(model).value());
}

TEST(ModelShape, computes_the_bytes_per_token) {
  EXPECT_EQ(bytes_of("Llama-3.1-8B"), 131072);
  EXPECT_EQ(bytes_of("Qwen3-8B"), 147456);
  EXPECT_EQ(bytes_of("Qwen3-30B-A3B"), 98304);
  EXPECT_EQ(bytes_of("Llama-3.3-70B"), 327680);
  EXPECT_EQ(bytes_of("DeepSeek-V3"), 70272);
}

TEST(ModelShape, is_found_by_common_names) {
  EXPECT_EQ(bytes_of("meta-llama/Llama-3.1-8B-Instruct"), 131072);
  EXPECT_EQ(bytes_of("qwen/qwen3-32b-fp8"), 262144);
  auto unknown = find_model("Qwen3-8");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().context.find("qwen3-8"), std::string::npos) << unknown.error().context;
  EXPECT_NE(unknown.error().context.find("did you mean"), std::string::npos)
      << unknown.error().context;
}

TEST(ModelShape, chunks_make_values_of_about_four_mebibytes) {
  EXPECT_EQ(chunk_tokens(131072, 1), 32);
  EXPECT_EQ(chunk_tokens(327680, 1), 16);
  EXPECT_EQ(chunk_tokens(327680, 8), 128);
  EXPECT_EQ(chunk_tokens(70272, 1), 64);
  EXPECT_EQ(chunk_tokens(1, 1), 256);
  EXPECT_EQ(chunk_tokens(1e9, 1), 16);
}

TEST(ModelShape, dtypes_have_their_sizes) {
  EXPECT_EQ(element_bytes("fp8").value(), 1);
  EXPECT_EQ(element_bytes("bf16").value(), 2);
  EXPECT_FALSE(element_bytes("int4"));
}

}  // namespace
}  // namespace specgen
