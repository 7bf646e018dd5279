// Any bytes as a stream of answers, as one chunk and as a text over chunks, whole and in pieces: the same
// events and the same facts, or the same error. Texts have complete characters.

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "generate/openai/chunk_reader.h"
#include "generate/openai/sse_parser.h"
#include "pieces.h"

namespace {

using namespace specgen;

void check(bool holds) {
  if (!holds) std::abort();
}

class Listener {
 public:
  void feed(const std::string& piece) {
    if (failed_) return;
    auto copy = std::make_unique<std::string>(piece);
    parser_.feed(*copy);
    listen();
  }
  std::string finish() {
    if (!failed_) {
      parser_.finish();
      listen();
    }
    for (const ChoiceFacts& choice : reader_.finish()) add(choice);
    return heard_ + parser_.stray() + std::to_string(parser_.comments()) + (failed_ ? "!" : "");
  }

 private:
  void listen() {
    while (true) {
      auto event = parser_.next();
      failed_ = !event;
      if (failed_ || !*event) return;
      auto facts = reader_.read((*event)->data);
      heard_ += "\nevent " + std::string((*event)->name) + "|" + std::string((*event)->data);
      if (!facts) {
        heard_ += facts.error().context;
        continue;
      }
      for (const ChoiceFacts& choice : facts->choices) add(choice);
      if (facts->fault) heard_ += facts->fault->message;
    }
  }
  void add(const ChoiceFacts& choice) {
    check(as_utf8(choice.reasoning) == choice.reasoning);
    check(as_utf8(choice.content) == choice.content);
    check(choice.choice >= 0 && choice.choice < ChunkReader::kMaxChoices);
    heard_ += "\nreasoning " + choice.reasoning + "\ncontent " + choice.content;
  }

  SseParser parser_{Bytes{512}};
  ChunkReader reader_;
  std::string heard_;
  bool failed_ = false;
};

// A chunk whose text is these bytes, as far as JSON allows them unescaped.
std::string chunk_of(std::string_view text, bool with_tokens) {
  std::string chunk = R"({"choices":[{"delta":{"content":")";
  for (char c : text) {
    bool plain = static_cast<unsigned char>(c) >= ' ' && c != '"' && c != '\\';
    chunk += plain ? c : ' ';
  }
  return chunk + (with_tokens ? R"("},"token_ids":[7]}]})" : R"("}}]})");
}

// The content of chunks, followed by their number of tokens.
std::string content_of(const std::vector<std::string>& texts, bool with_tokens) {
  ChunkReader reader;
  std::string content;
  std::size_t tokens = 0;
  auto take = [&](const ChoiceFacts& choice) {
    check(as_utf8(choice.content) == choice.content);
    content += choice.content;
    tokens += choice.token_ids.size();
  };
  for (const std::string& text : texts) {
    auto facts = reader.read(chunk_of(text, with_tokens));
    check(facts.has_value() && facts->choices.size() == 1);
    take(facts->choices[0]);
  }
  for (const ChoiceFacts& choice : reader.finish()) take(choice);
  check(tokens == (with_tokens ? texts.size() : 0));
  return content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input = cut_into_pieces(data, size);
  Listener whole, in_pieces;
  whole.feed(input.text);
  for (const std::string& piece : input.pieces) in_pieces.feed(piece);
  check(whole.finish() == in_pieces.finish());

  // The same bytes as one event: most are not JSON, and the fuzzer learns which are.
  ChunkReader reader;
  if (auto facts = reader.read(input.text)) {
    for (const ChoiceFacts& choice : facts->choices) {
      check(as_utf8(choice.reasoning + choice.content) == choice.reasoning + choice.content);
    }
  }
  (void)fault_in_body(input.text);

  // And as text split over chunks, also within characters. Short: one chunk per byte is slow.
  if (input.pieces.size() > 64) return 0;
  std::string content = content_of({input.text}, false);
  check(content == content_of(input.pieces, false));
  check(content == content_of(input.pieces, true));
  return 0;
}
