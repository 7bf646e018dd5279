#include "generate/openai/chunk_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "generate/openai/utf8_chunks.h"

namespace specgen {
namespace {

constexpr std::string_view kDone = "[DONE]";
constexpr std::size_t kMaxExcerpt = 160;
constexpr double kMaxTokens = 1e15;  // a larger count is ignored

// Tokens whose text ends inside a character are held until the rest arrives, up to this limit.
constexpr std::size_t kMaxHeld = 4096;  // bytes, or tokens

std::unexpected<Error> not_a_chunk(std::string_view data, std::string_view why) {
  std::string begin = as_utf8(std::string(data.substr(0, kMaxExcerpt)));
  return fail(ErrorCode::bad_stream, fmt::format("an event is not a chunk ({}): {}", why, begin));
}

// A chunk is read once and dropped, so its values are allocated on the stack as far as they fit.
struct Document {
  std::array<unsigned char, 8192> buffer;
  std::array<unsigned char, 2048> parser_buffer;
  boost::json::monotonic_resource resource{buffer.data(), buffer.size()};
  std::string storage;
  Json root = Json(boost::json::storage_ptr(&resource));

  Result<void> parse(std::string_view text) {
    boost::json::parse_options options;
    options.max_depth = 32;
    options.allow_invalid_utf8 = true;  // repaired later, when the other half may have arrived
    boost::json::parser parser({}, options, parser_buffer.data(), parser_buffer.size());
    parser.reset(&resource);
    text = halves_as_bytes(text, storage);
    boost::json::error_code error;
    parser.write(text.data(), text.size(), error);
    if (error) return not_a_chunk(text, error.message());
    root = parser.release();
    if (!root.is_object()) return not_a_chunk(text, "not an object");
    return {};
  }
};

// The member, unless it is missing or null.
const Json* find(const Json& object, std::string_view key) {
  const Json* member = member_at(object, key);
  return member && !member->is_null() ? member : nullptr;
}

std::string_view view_at(const Json& object, std::string_view key) {
  const Json* member = member_at(object, key);
  return member && member->is_string() ? std::string_view(member->get_string())
                                       : std::string_view();
}

std::string first_text(const Json& object, std::initializer_list<std::string_view> keys) {
  for (std::string_view key : keys) {
    if (std::string_view text = view_at(object, key); !text.empty()) return std::string(text);
  }
  return {};
}

std::optional<std::int64_t> count_at(const Json* object, std::string_view key) {
  const Json* member = object ? member_at(*object, key) : nullptr;
  if (!member || !member->is_number()) return std::nullopt;
  double count = member->to_number<double>();
  if (!(count >= 0 && count <= kMaxTokens)) return std::nullopt;
  return static_cast<std::int64_t>(count);
}

template <class T>
std::optional<T> first_of(std::initializer_list<std::optional<T>> values) {
  for (const auto& value : values) {
    if (value) return value;
  }
  return std::nullopt;
}

// All or none: a fork must not start from a list with a missing token.
std::vector<std::int32_t> token_ids_at(const Json& object, std::string_view key) {
  const Json* member = find(object, key);
  if (!member || !member->is_array()) return {};
  std::vector<std::int32_t> ids;
  ids.reserve(member->get_array().size());
  for (const Json& id : member->get_array()) {
    bool fits = id.is_int64() && id.get_int64() >= 0 &&
                id.get_int64() <= std::numeric_limits<std::int32_t>::max();
    if (!fits) return {};
    ids.push_back(static_cast<std::int32_t>(id.get_int64()));
  }
  return ids;
}

void set_finish(ChoiceFacts& facts, std::string_view word) {
  facts.finish_word = as_utf8(std::string(word));
  if (word == "stop" || word == "eos" || word == "word") {
    facts.finish = FinishReason::stop;
  } else if (word == "length" || word == "limit" || word == "max_tokens") {
    facts.finish = FinishReason::length;
  } else {
    facts.finish = FinishReason::other;
  }
}

// OpenRouter sends some reasoning only as a list of parts.
std::string reasoning_details(const Json& delta) {
  const Json* details = find(delta, "reasoning_details");
  std::string text;
  if (!details || !details->is_array()) return text;
  for (const Json& part : details->get_array()) text += first_text(part, {"text", "summary"});
  return text;
}

void read_delta(const Json& delta, ChoiceFacts& facts) {
  facts.reasoning = first_text(delta, {"reasoning_content", "reasoning", "thinking"});
  if (facts.reasoning.empty()) facts.reasoning = reasoning_details(delta);
  facts.content = first_text(delta, {"content"});
}

std::string word_or_number(const Json* value) {
  if (!value) return {};
  if (value->is_string()) return std::string(value->get_string());
  return value->is_number() ? boost::json::serialize(*value) : std::string();
}

ServerFault read_fault(const Json& error) {
  ServerFault fault;
  if (error.is_string()) {
    fault.message = std::string(error.get_string());
  } else if (error.is_object()) {
    fault.message = first_text(error, {"message", "msg", "detail"});
    fault.type = first_text(error, {"type"});
    fault.code = word_or_number(find(error, "code"));
  }
  if (fault.message.empty()) fault.message = boost::json::serialize(error);
  for (std::string* text : {&fault.message, &fault.type, &fault.code}) {
    *text = as_utf8(std::move(*text));
  }
  return fault;
}

std::optional<ServerFault> find_fault(const Json& root) {
  // Some proxies send `false` or an empty text for "no error".
  const Json* error = find(root, "error");
  bool none = !error || (error->is_bool() && !error->get_bool()) ||
              (error->is_string() && error->get_string().empty());
  if (!none) return read_fault(*error);
  if (view_at(root, "object") == "error") return read_fault(root);
  return std::nullopt;
}

// Here the prompt tokens from the server's cache are counted apart from the others.
std::optional<std::int64_t> prompt_with_cached(const Json* usage) {
  auto fresh = count_at(usage, "input_tokens");
  if (!fresh) return std::nullopt;
  return *fresh + count_at(usage, "cache_read_input_tokens").value_or(0) +
         count_at(usage, "cache_creation_input_tokens").value_or(0);
}

std::optional<UsageFacts> read_usage(const Json& root) {
  const Json* usage = find(root, "usage");
  const Json* timings = find(root, "timings");           // llama.cpp
  const Json* progress = find(root, "prompt_progress");  // llama.cpp, before the first token
  if (usage && !usage->is_object()) usage = nullptr;
  UsageFacts facts;
  if (usage) {
    const Json* prompt_details = find(*usage, "prompt_tokens_details");
    const Json* details = find(*usage, "completion_tokens_details");
    facts.prompt_tokens = first_of({count_at(usage, "prompt_tokens"), prompt_with_cached(usage)});
    facts.completion_tokens =
        first_of({count_at(usage, "completion_tokens"), count_at(usage, "output_tokens")});
    facts.reasoning_tokens =
        first_of({count_at(details, "reasoning_tokens"), count_at(usage, "reasoning_tokens")});
    facts.cached_tokens = first_of(
        {count_at(prompt_details, "cached_tokens"), count_at(usage, "prompt_cache_hit_tokens"),
         count_at(usage, "cached_tokens"), count_at(usage, "cache_read_input_tokens")});
  }
  auto evaluated = count_at(timings, "prompt_n"), reused = count_at(timings, "cache_n");
  std::optional<std::int64_t> by_timings;
  if (evaluated && reused) by_timings = *evaluated + *reused;
  facts.prompt_tokens = first_of({facts.prompt_tokens, by_timings, count_at(progress, "total"),
                                  count_at(&root, "tokens_evaluated")});
  facts.completion_tokens = first_of({facts.completion_tokens, count_at(timings, "predicted_n"),
                                      count_at(&root, "tokens_predicted")});
  facts.cached_tokens = first_of({facts.cached_tokens, reused, count_at(progress, "cache")});
  bool any = facts.prompt_tokens || facts.completion_tokens || facts.reasoning_tokens ||
             facts.cached_tokens;
  return any ? std::optional(facts) : std::nullopt;
}

std::optional<int> choice_number(const Json& choice, std::size_t otherwise) {
  const Json* index = find(choice, "index");
  std::int64_t number = static_cast<std::int64_t>(otherwise);
  if (index) number = index->is_int64() ? index->get_int64() : -1;
  if (number < 0 || number >= ChunkReader::kMaxChoices) return std::nullopt;
  return static_cast<int>(number);
}

// {"choices": [{"index": 0, "delta": {...}, ...}]}, or with "text" instead of "delta".
Result<void> read_choices(const Json& list, std::string_view data, ChunkFacts& facts) {
  if (!list.is_array()) return not_a_chunk(data, "choices are not a list");
  for (const Json& choice : list.get_array()) {
    auto number = choice_number(choice, facts.choices.size());
    if (!number) return not_a_chunk(data, "a choice has no number of ours");
    ChoiceFacts one;
    one.choice = *number;
    const Json* delta = find(choice, "delta");
    if (!delta) delta = find(choice, "message");  // an answer that was not streamed
    if (delta) read_delta(*delta, one);
    if (one.content.empty()) one.content = view_at(choice, "text");
    one.token_ids = token_ids_at(choice, "token_ids");
    if (auto word = view_at(choice, "finish_reason"); !word.empty()) set_finish(one, word);
    if (facts.prompt_token_ids.empty()) {
      facts.prompt_token_ids = token_ids_at(choice, "prompt_token_ids");
    }
    if (!facts.fault) facts.fault = find_fault(choice);
    if (!facts.fault && one.finish_word == "error") {
      facts.fault.emplace().message = "the server ended the answer with an error";
    }
    facts.choices.push_back(std::move(one));
  }
  return {};
}

// llama.cpp's /completion: {"index": 0, "content": "The", "tokens": [785], "stop": false, ...}
Result<void> read_plain_completion(const Json& root, std::string_view data, ChunkFacts& facts) {
  auto number = choice_number(root, 0);
  if (!number) return not_a_chunk(data, "a choice has no number of ours");
  ChoiceFacts one;
  one.choice = *number;
  one.content = view_at(root, "content");
  one.token_ids = token_ids_at(root, "tokens");
  if (flag_at(root, "stop")) {
    std::string_view word = view_at(root, "stop_type");
    set_finish(one, word.empty() ? "stop" : word);
  }
  facts.choices.push_back(std::move(one));
  return {};
}

}  // namespace

Result<ChunkFacts> ChunkReader::read(std::string_view data) {
  ChunkFacts facts;
  data = trim(data);
  facts.done = data == kDone;
  if (facts.done || data.empty()) return facts;
  Document document;
  TRY(document.parse(data));
  const Json& root = document.root;
  facts.fault = find_fault(root);
  facts.id = as_utf8(std::string(view_at(root, "id")));
  facts.prompt_token_ids = token_ids_at(root, "prompt_token_ids");
  facts.prompt_text = as_utf8(std::string(view_at(root, "prompt_text")));
  facts.usage = read_usage(root);
  if (const Json* choices = find(root, "choices")) {
    TRY(read_choices(*choices, data, facts));
  } else if (member_at(root, "content") && member_at(root, "stop")) {
    TRY(read_plain_completion(root, data, facts));
  }
  for (ChoiceFacts& choice : facts.choices) join_characters(choice, choice.finish.has_value());
  return facts;
}

std::vector<ChoiceFacts> ChunkReader::finish() {
  std::vector<ChoiceFacts> rest;
  while (!held_.empty()) {
    ChoiceFacts facts;
    facts.choice = held_.begin()->first;
    join_characters(facts, true);
    rest.push_back(std::move(facts));
  }
  return rest;
}

void ChunkReader::join_characters(ChoiceFacts& facts, bool at_end) {
  auto before = held_.find(facts.choice);
  Held held;
  if (before != held_.end()) {
    held = std::move(before->second);
    held_.erase(before);
  }
  bool reasoning_ended = at_end || !facts.content.empty();
  take_complete_characters(facts.reasoning, held.reasoning, reasoning_ended);
  take_complete_characters(facts.content, held.content, at_end);
  if (!held.token_ids.empty()) {
    held.token_ids.insert(held.token_ids.end(), facts.token_ids.begin(), facts.token_ids.end());
    facts.token_ids = std::exchange(held.token_ids, {});
  }
  if (held.reasoning.empty() && held.content.empty()) return;
  std::size_t bytes = facts.reasoning.size() + facts.content.size();
  if (!facts.token_ids.empty() && std::max(bytes, facts.token_ids.size()) <= kMaxHeld) {
    held.reasoning.insert(0, std::exchange(facts.reasoning, {}));
    held.content.insert(0, std::exchange(facts.content, {}));
    held.token_ids = std::exchange(facts.token_ids, {});
  }
  held_.emplace(facts.choice, std::move(held));
}

std::optional<ServerFault> fault_in_body(std::string_view body) {
  Document document;
  if (!document.parse(trim(body))) return std::nullopt;
  if (auto fault = find_fault(document.root)) return fault;
  if (const Json* detail = find(document.root, "detail")) return read_fault(*detail);
  // Some proxies send the error object itself as the body.
  if (!find(document.root, "choices") && !view_at(document.root, "message").empty()) {
    return read_fault(document.root);
  }
  return std::nullopt;
}

}  // namespace specgen
