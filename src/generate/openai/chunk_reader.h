#pragma once
// What one event of a stream says, whichever server says it: chunks of chat and of text completions
// (vLLM, SGLang, llama.cpp, DeepSeek, Z.ai, OpenRouter, Ollama, OpenAI) and of llama.cpp's /completion.
// Any key may be missing or null. One reader per stream: characters that a server splits over two chunks
// (bytes of UTF-8, halves of a surrogate pair) are put together again, so texts are whole characters.
//
//   ChunkFacts facts = TRY(reader.read(event.data));
//   ...
//   for (ChoiceFacts& rest : reader.finish()) ...   // at the end: half a character, as U+FFFD
//
// What is no JSON object is an error (bad_stream). An error that the server reports is a fact: the
// caller decides what it is worth.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "generate/model.h"

namespace specgen {

struct ChoiceFacts {
  int choice = 0;
  std::string reasoning;                // comes before content, where one chunk has both
  std::string content;                  // or the text of a completion
  std::vector<std::int32_t> token_ids;  // of both
  std::optional<FinishReason> finish;   // this choice has ended
  std::string finish_word;              // as the server wrote it, such as "stop" or "abort"
};

// What has been counted so far; a server may tell it once or in every chunk.
struct UsageFacts {
  std::optional<std::int64_t> prompt_tokens;  // the cached ones included
  std::optional<std::int64_t> completion_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  std::optional<std::int64_t> cached_tokens;
};

struct ServerFault {
  std::string message;
  std::string type;  // such as "invalid_request_error"; may be empty
  std::string code;  // a number or a word; may be empty
};

struct ChunkFacts {
  // [DONE]. Not every server says it: a stream is whole as well when each choice has finished.
  bool done = false;
  std::string id;  // of the generation, by which some servers can be told to abort it
  std::vector<ChoiceFacts> choices;
  std::vector<std::int32_t> prompt_token_ids;
  std::string prompt_text;  // as rendered by the server's template
  std::optional<UsageFacts> usage;
  std::optional<ServerFault> fault;
};

class ChunkReader {
 public:
  static constexpr int kMaxChoices = 128;  // a chunk that names a higher one is an error

  Result<ChunkFacts> read(std::string_view data);

  // What was held back, per choice.
  std::vector<ChoiceFacts> finish();

 private:
  struct Held {  // of one choice
    std::string reasoning;
    std::string content;
    std::vector<std::int32_t> token_ids;  // they wait for their text
  };
  void join_characters(ChoiceFacts& facts, bool at_end);

  std::map<int, Held> held_;
};

// What a body that is no stream says went wrong, in any of the shapes servers use; nothing if it is no
// such report.
std::optional<ServerFault> fault_in_body(std::string_view body);

}  // namespace specgen
