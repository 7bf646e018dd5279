#include "kvcache/kv_key.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(KvKey, a_pair_shares_its_base) {
  KvKey bytes = parse_kv_key("m@1@0@ab12@bfloat16kv_bytes");
  KvKey metadata = parse_kv_key("m@1@0@ab12@bfloat16metadata");
  EXPECT_EQ(bytes.base, "m@1@0@ab12@bfloat16");
  EXPECT_EQ(metadata.base, bytes.base);
  EXPECT_EQ(bytes.part, KvPart::bytes);
  EXPECT_EQ(metadata.part, KvPart::metadata);
  EXPECT_EQ(parse_kv_key("m@1@0@ab12@bfloat16").part, KvPart::single);
}

TEST(KvKey, a_key_may_consist_of_the_suffix_only) {
  EXPECT_EQ(parse_kv_key("metadata").base, "metadata");
  EXPECT_EQ(parse_kv_key("").base, "");
}

TEST(KvKey, the_salt_is_the_task) {
  EXPECT_EQ(parse_kv_key("org/model@00000001@0@00ffee@softmax-7").task, "softmax-7");
  EXPECT_EQ(parse_kv_key("org/model@00000001@0@00ffee@with@at").task, "with@at");
  EXPECT_EQ(parse_kv_key("org/model@00000001@0@00ffee").task, "");
}

TEST(KvKey, the_tag_task_is_the_task) {
  EXPECT_EQ(parse_kv_key("m@8@3@00ffee@half@user%u@task%softmax-7").task, "softmax-7");
  EXPECT_EQ(parse_kv_key("m@8@3@00ffee@half@user%u").task, "");
  EXPECT_EQ(parse_kv_key("m@8@3@00ffee@halfkv_bytes").task, "");
}

TEST(KvKey, chunks_of_one_prompt_have_one_series) {
  EXPECT_EQ(parse_kv_key("m@8@3@00ffee@half").series, "m@8@3");
  EXPECT_EQ(parse_kv_key("m@00000001@0@00ffee@salt").series, "m@00000001@0");
  EXPECT_EQ(parse_kv_key("any key at all").series, "");
  EXPECT_EQ(parse_kv_key("a@b@c@not hex").series, "");
}

}  // namespace
}  // namespace specgen
