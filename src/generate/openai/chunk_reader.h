#pragma once
// Reads one event of a stream into facts that do not depend on the server: chunks of chat and text completions
// (vLLM, SGLang, llama.cpp, DeepSeek, Z.ai, OpenRouter, Ollama, OpenAI) and of llama.cpp's /completion.
// Any key may be missing or null. One reader per stream: it joins characters that a server splits over two
// chunks (UTF-8 bytes, halves of a surrogate pair), so that texts have complete characters.
//
//   ChunkFacts facts = TRY(reader.read(event.data));
//   ...
//   for (ChoiceFacts& rest : reader.finish()) ...   // at the end: half a character, as U+FFFD
//
// Data that is not a JSON object is an error (bad_stream). An error reported by the server is a fact, which
// the caller evaluates. Pure: no I/O.

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
  std::string reasoning;                // precedes content, if a chunk has both
  std::string content;                  // or the text of a completion
  std::vector<std::int32_t> token_ids;  // of both
  std::optional<FinishReason> finish;   // this choice has ended
  std::string finish_word;              // as the server wrote it, such as "stop" or "abort"
};

// Counts so far; a server sends them once or in every chunk.
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
  // [DONE]. Not every server sends it: a stream is also complete when each choice has finished.
  bool done = false;
  std::string id;  // of the generation; some servers abort by it
  std::vector<ChoiceFacts> choices;
  std::vector<std::int32_t> prompt_token_ids;
  std::string prompt_text;  // as rendered by the server's template
  std::optional<UsageFacts> usage;
  std::optional<ServerFault> fault;
};

class ChunkReader {
 public:
  static constexpr int kMaxChoices = 128;  // a higher index is an error

  Result<ChunkFacts> read(std::string_view data);

  // The text still held back, per choice.
  std::vector<ChoiceFacts> finish();

 private:
  struct Held {  // of one choice
    std::string reasoning;
    std::string content;
    std::vector<std::int32_t> token_ids;  // until their text is complete
  };
  void join_characters(ChoiceFacts& facts, bool at_end);

  std::map<int, Held> held_;
};

// The error reported in a body that is not a stream, in any of the shapes servers use; nullopt if there is
// none.
std::optional<ServerFault> fault_in_body(std::string_view body);

}  // namespace specgen
