#include "generate/openai/chunk_reader.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"
#include "generate/openai/utf8_chunks.h"

namespace specgen {
namespace {

ChunkFacts read_one(std::string_view data) {
  ChunkReader reader;
  auto facts = reader.read(data);
  EXPECT_TRUE(facts) << facts.error().text();
  return facts.value_or(ChunkFacts());
}

std::string chat(std::string_view delta, std::string_view more = "") {
  return R"({"id":"c-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":)" +
         std::string(delta) + R"(,"finish_reason":null)" + std::string(more) + "}]}";
}

using Ids = std::vector<std::int32_t>;

TEST(ChunkReader, reasoning_has_three_names) {
  for (const char* name : {"reasoning_content", "reasoning", "thinking"}) {
    auto facts = read_one(chat("{\"content\":\"\",\"" + std::string(name) + "\":\"hm\"}"));
    ASSERT_EQ(facts.choices.size(), 1U);
    EXPECT_EQ(facts.choices[0].reasoning, "hm") << name;
    EXPECT_EQ(facts.choices[0].content, "");
    EXPECT_FALSE(facts.choices[0].finish);
    EXPECT_EQ(facts.id, "c-1");
  }
}

TEST(ChunkReader, of_two_names_the_one_with_text_counts) {
  auto facts = read_one(chat(R"({"reasoning_content":null,"reasoning":"hm","content":null})"));
  EXPECT_EQ(facts.choices.at(0).reasoning, "hm");
  facts = read_one(chat(R"({"reasoning_content":"hm","reasoning":"hm"})"));
  EXPECT_EQ(facts.choices.at(0).reasoning, "hm") << "sent twice, counted once";
}

TEST(ChunkReader, reasoning_sent_as_a_list_of_parts_is_joined) {
  auto facts = read_one(
      chat(R"({"reasoning":null,"reasoning_details":[{"type":"reasoning.text","text":"h"},)"
           R"({"summary":"m"},{"data":"x"}]})"));
  EXPECT_EQ(facts.choices.at(0).reasoning, "hm");
}

TEST(ChunkReader, keys_may_be_missing_or_null) {
  EXPECT_TRUE(read_one("{}").choices.empty());
  EXPECT_TRUE(read_one(R"({"choices":[],"usage":null,"error":null})").choices.empty());
  EXPECT_TRUE(read_one(R"({"choices":null})").choices.empty());
  auto facts = read_one(R"({"choices":[{}]})");
  EXPECT_EQ(facts.choices.at(0).content, "");
  facts = read_one(R"({"choices":[{"delta":null,"finish_reason":null,"index":null}]})");
  EXPECT_EQ(facts.choices.at(0).choice, 0);
  EXPECT_FALSE(facts.usage);
  EXPECT_FALSE(facts.fault);
}

TEST(ChunkReader, the_end_mark_and_empty_data_are_not_json) {
  EXPECT_TRUE(read_one("[DONE]").done);
  EXPECT_TRUE(read_one(" [DONE] ").done);
  EXPECT_FALSE(read_one("").done);
}

TEST(ChunkReader, choices_keep_their_indices) {
  auto facts = read_one(
      R"({"choices":[{"index":2,"delta":{"content":"c"}},{"index":0,"text":"t","finish_reason":"length"}]})");
  ASSERT_EQ(facts.choices.size(), 2U);
  EXPECT_EQ(facts.choices[0].choice, 2);
  EXPECT_EQ(facts.choices[0].content, "c");
  EXPECT_EQ(facts.choices[1].content, "t");
  EXPECT_EQ(facts.choices[1].finish, FinishReason::length);
}

TEST(ChunkReader, a_choice_index_out_of_range_is_an_error) {
  for (const char* index : {"-1", "128", "1.5", "\"x\""}) {
    ChunkReader reader;
    auto facts = reader.read("{\"choices\":[{\"index\":" + std::string(index) + "}]}");
    ASSERT_FALSE(facts) << index;
    EXPECT_EQ(facts.error().code, ErrorCode::bad_stream);
  }
}

TEST(ChunkReader, finish_reasons_of_all_servers_are_read) {
  auto end = [](const char* word) {
    return read_one(R"({"choices":[{"delta":{},"finish_reason":")" + std::string(word) + "\"}]}")
        .choices.at(0);
  };
  EXPECT_EQ(end("stop").finish, FinishReason::stop);
  EXPECT_EQ(end("length").finish, FinishReason::length);
  EXPECT_EQ(end("abort").finish, FinishReason::other);
  EXPECT_EQ(end("abort").finish_word, "abort");
}

TEST(ChunkReader, tokens_arrive_with_their_text_and_the_prompt_s_with_the_first_chunk) {
  auto facts =
      read_one(R"({"choices":[{"index":0,"delta":{"reasoning":"is"},"token_ids":[5,151667]}],)"
               R"("prompt_token_ids":[1,2,3],"prompt_text":"<|user|>hi"})");
  EXPECT_EQ(facts.choices.at(0).token_ids, (Ids{5, 151667}));
  EXPECT_EQ(facts.prompt_token_ids, (Ids{1, 2, 3}));
  EXPECT_EQ(facts.prompt_text, "<|user|>hi");
  facts = read_one(R"({"choices":[{"text":"x","token_ids":[5],"prompt_token_ids":[1,2]}]})");
  EXPECT_EQ(facts.prompt_token_ids, (Ids{1, 2}));
}

TEST(ChunkReader, a_token_list_with_an_invalid_entry_is_dropped) {
  for (const char* ids : {"[1,-2]", "[1,2147483648]", "[1,null]", "[1,\"2\"]", "7"}) {
    auto facts =
        read_one("{\"choices\":[{\"text\":\"x\",\"token_ids\":" + std::string(ids) + "}]}");
    EXPECT_TRUE(facts.choices.at(0).token_ids.empty()) << ids;
  }
}

TEST(ChunkReader, a_plain_completion_of_llama_cpp_is_read) {
  auto facts = read_one(R"({"index":1,"content":"The","tokens":[785],"stop":false,"id_slot":-1,)"
                        R"("tokens_predicted":1,"tokens_evaluated":42})");
  EXPECT_EQ(facts.choices.at(0).choice, 1);
  EXPECT_EQ(facts.choices.at(0).content, "The");
  EXPECT_EQ(facts.choices.at(0).token_ids, Ids{785});
  EXPECT_FALSE(facts.choices.at(0).finish);
  EXPECT_EQ(facts.usage->prompt_tokens, 42);
  facts = read_one(
      R"({"content":"","stop":true,"stop_type":"limit","tokens_predicted":9,"tokens_evaluated":42,)"
      R"("timings":{"cache_n":40,"prompt_n":2,"predicted_n":9}})");
  EXPECT_EQ(facts.choices.at(0).finish, FinishReason::length);
  EXPECT_EQ(facts.usage->completion_tokens, 9);
  EXPECT_EQ(facts.usage->cached_tokens, 40);
}

struct Spelling {
  const char* json;
  UsageFacts usage;
};

TEST(ChunkReader, usage_of_all_servers_is_read) {
  const std::vector<Spelling> spellings{
      {R"({"usage":{"prompt_tokens":26,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":25},)"
       R"("completion_tokens_details":{"reasoning_tokens":5}}})",
       {26, 7, 5, 25}},
      {R"({"usage":{"prompt_tokens":26,"completion_tokens":7,)"
       R"("reasoning_tokens":5,"prompt_tokens_details":null}})",
       {26, 7, 5, std::nullopt}},
      {R"({"usage":{"prompt_tokens":26,"completion_tokens":7,)"
       R"("prompt_cache_hit_tokens":20,"prompt_cache_miss_tokens":6}})",
       {26, 7, std::nullopt, 20}},
      {R"({"usage":{"input_tokens":6,"output_tokens":7,"cache_read_input_tokens":20}})",
       {26, 7, std::nullopt, 20}},
      {R"({"choices":[],"timings":{"cache_n":20,"prompt_n":6,"predicted_n":7}})",
       {26, 7, std::nullopt, 20}},
      {R"({"prompt_progress":{"total":26,"cache":25,"processed":25,"time_ms":0}})",
       {26, std::nullopt, std::nullopt, 25}},
  };
  for (const Spelling& spelling : spellings) {
    auto usage = read_one(spelling.json).usage;
    ASSERT_TRUE(usage) << spelling.json;
    EXPECT_EQ(usage->prompt_tokens, spelling.usage.prompt_tokens) << spelling.json;
    EXPECT_EQ(usage->completion_tokens, spelling.usage.completion_tokens) << spelling.json;
    EXPECT_EQ(usage->reasoning_tokens, spelling.usage.reasoning_tokens) << spelling.json;
    EXPECT_EQ(usage->cached_tokens, spelling.usage.cached_tokens) << spelling.json;
  }
}

TEST(ChunkReader, an_invalid_count_is_ignored) {
  EXPECT_FALSE(read_one(R"({"usage":{"prompt_tokens":-1,"completion_tokens":1e300}})").usage);
  EXPECT_FALSE(read_one(R"({"usage":{"prompt_tokens":"26"}})").usage);
  EXPECT_FALSE(read_one(R"({"usage":[1]})").usage);
}

TEST(ChunkReader, errors_have_many_shapes) {
  for (const char* json :
       {R"({"error":{"message":"too long","type":"invalid","code":400}})",
        R"({"object":"error","message":"too long","type":"invalid","code":400})",
        R"({"choices":[{"delta":{},"error":{"message":"too long","type":"invalid","code":400},)"
        R"("finish_reason":"error"}]})"}) {
    auto fault = read_one(json).fault;
    ASSERT_TRUE(fault) << json;
    EXPECT_EQ(fault->message, "too long");
    EXPECT_EQ(fault->type, "invalid");
    EXPECT_EQ(fault->code, "400");
  }
  EXPECT_EQ(read_one(R"({"error":"too long"})").fault->message, "too long");
  EXPECT_EQ(read_one(R"({"error":{"odd":1}})").fault->message, R"({"odd":1})");
  EXPECT_TRUE(read_one(R"({"choices":[{"delta":{},"finish_reason":"error"}]})").fault);
  EXPECT_FALSE(read_one(R"({"error":false,"choices":[]})").fault);
}

TEST(ChunkReader, an_invalid_chunk_is_an_error_that_shows_it) {
  for (const char* data : {"{", "<html>", "[]", "17", "{\"a\":1}}", "\"x\"", "{\"choices\":7}"}) {
    ChunkReader reader;
    auto facts = reader.read(data);
    ASSERT_FALSE(facts) << data;
    EXPECT_EQ(facts.error().code, ErrorCode::bad_stream);
    EXPECT_NE(facts.error().context.find(data), std::string::npos);
  }
}

TEST(ChunkReader, deep_nesting_is_refused) {
  ChunkReader reader;
  std::string deep(100'000, '[');
  EXPECT_FALSE(reader.read("{\"a\":" + deep));
}

TEST(ChunkReader, the_error_in_a_body_without_a_stream_is_found) {
  EXPECT_EQ(fault_in_body("\n{\"detail\":\"Not Found\"}\n")->message, "Not Found");
  EXPECT_EQ(fault_in_body(R"({"detail":[{"msg":"field required"}]})")->message,
            R"([{"msg":"field required"}])");
  EXPECT_EQ(fault_in_body(R"({"message":"no quota","code":7})")->code, "7");
  EXPECT_FALSE(fault_in_body("<html>502</html>"));
  EXPECT_FALSE(fault_in_body(R"({"choices":[{"message":{"content":"x"}}]})"));
}

TEST(ChunkReader, an_answer_that_was_not_streamed_is_read_too) {
  auto facts = read_one(
      R"({"choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"yes"},)"
      R"("finish_reason":"stop"}]})");
  EXPECT_EQ(facts.choices.at(0).reasoning, "hm");
  EXPECT_EQ(facts.choices.at(0).content, "yes");
  EXPECT_EQ(facts.choices.at(0).finish, FinishReason::stop);
}

struct Texts {
  std::string reasoning, content;
  Ids ids;
};

// Reads chunks, checks that every text has complete characters, and returns all texts.
Texts read_all(ChunkReader& reader, const std::vector<std::string>& chunks) {
  Texts texts;
  auto take = [&](const ChoiceFacts& choice) {
    EXPECT_EQ(as_utf8(choice.reasoning), choice.reasoning);
    EXPECT_EQ(as_utf8(choice.content), choice.content);
    texts.reasoning += choice.reasoning;
    texts.content += choice.content;
    texts.ids.insert(texts.ids.end(), choice.token_ids.begin(), choice.token_ids.end());
  };
  for (const std::string& chunk : chunks) {
    auto facts = reader.read(chunk);
    EXPECT_TRUE(facts) << facts.error().text();
    if (facts) std::ranges::for_each(facts->choices, take);
  }
  std::ranges::for_each(reader.finish(), take);
  return texts;
}

TEST(ChunkReader, a_character_split_as_bytes_is_joined) {
  ChunkReader reader;
  auto texts = read_all(reader, {chat("{\"content\":\"a\xF0\x9F\"}"),
                                 chat("{\"content\":\"\x98\"}"), chat("{\"content\":\"\x80z\"}")});
  EXPECT_EQ(texts.content, "a\xF0\x9F\x98\x80z");
}

TEST(ChunkReader, a_surrogate_pair_split_over_chunks_is_joined) {
  ChunkReader reader;
  auto texts =
      read_all(reader, {chat(R"({"reasoning":"a\ud83d"})"), chat(R"({"reasoning":"\ude00z"})")});
  EXPECT_EQ(texts.reasoning, "a\xF0\x9F\x98\x80z");
}

TEST(ChunkReader, half_a_character_without_its_rest_is_replaced) {
  ChunkReader reader;
  EXPECT_EQ(read_all(reader, {chat(R"({"content":"a\ud83dz\ude00"})")}).content,
            "a\xEF\xBF\xBDz\xEF\xBF\xBD");
  EXPECT_EQ(read_all(reader, {chat("{\"content\":\"a\xF0\x9F\"}")}).content,
            "a\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(read_all(reader, {chat("{\"content\":\"\xFFz\"}")}).content, "\xEF\xBF\xBDz");
}

TEST(ChunkReader, half_a_character_of_the_reasoning_is_emitted_before_the_answer) {
  ChunkReader reader;
  ASSERT_TRUE(reader.read(chat("{\"reasoning\":\"a\xF0\x9F\"}")));
  auto facts = reader.read(chat("{\"content\":\"b\"}"));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->choices.at(0).reasoning, "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(facts->choices.at(0).content, "b");
}

TEST(ChunkReader, tokens_are_held_until_their_character_is_complete) {
  ChunkReader reader;
  auto first = reader.read(chat("{\"content\":\"a\xF0\x9F\"}", ",\"token_ids\":[1,2]"));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->choices.at(0).content, "");
  EXPECT_TRUE(first->choices.at(0).token_ids.empty());
  auto second = reader.read(chat("{\"content\":\"\x98\x80\"}", ",\"token_ids\":[3]"));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->choices.at(0).content, "a\xF0\x9F\x98\x80");
  EXPECT_EQ(second->choices.at(0).token_ids, (Ids{1, 2, 3}));
}

TEST(ChunkReader, halves_of_different_choices_are_not_joined) {
  ChunkReader reader;
  auto texts = read_all(
      reader, {R"({"choices":[{"index":0,"text":"\ud83d"},{"index":1,"text":"\ude00"}]})"});
  EXPECT_EQ(texts.content, "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8Chunks, an_escaped_backslash_does_not_start_an_escape) {
  std::string storage;
  for (std::string_view json : {R"({"a":"\\ud83d"})", R"({"a":"\ud83d\ude00"})", R"({"a":"\n"})",
                                R"({"a":"\u00e4"})", R"("\)", R"("\ud8)"}) {
    EXPECT_EQ(halves_as_bytes(json, storage), json);
  }
  EXPECT_EQ(halves_as_bytes(R"("\ud83d\ud83d\ude00\\")", storage),
            "\"\xED\xA0\xBD\\ud83d\\ude00\\\\\"");
}

TEST(Utf8Chunks, any_pieces_give_the_same_as_the_whole) {
  const std::vector<std::string> parts{"a",
                                       "\xC3\xA4",
                                       "\xE2\x82\xAC",
                                       "\xF0\x9F\x98\x80",
                                       "\xED\xA0\xBD",
                                       "\xED\xB8\x80",
                                       "\x80",
                                       "\xF0",
                                       "\xE2\x82",
                                       "\xED"};
  Random random(3);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes;
    for (std::uint64_t n = random.below(8); n > 0; --n) bytes += parts[random.below(parts.size())];
    std::string whole = bytes, held;
    take_complete_characters(whole, held, true);
    std::string joined;
    for (std::size_t at = 0; at < bytes.size();) {
      std::size_t length = 1 + random.below(3);
      std::string piece = bytes.substr(at, length);
      at += length;
      take_complete_characters(piece, held, false);
      EXPECT_EQ(as_utf8(piece), piece);
      EXPECT_LT(held.size(), 6U);
      joined += piece;
    }
    std::string rest;
    take_complete_characters(rest, held, true);
    EXPECT_EQ(held, "");
    EXPECT_EQ(joined + rest, whole);
  }
}

}  // namespace
}  // namespace specgen
