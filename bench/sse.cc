// Parsing answer streams on one core: events only, and events with their JSON.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>

#include "figures.h"
#include "generate/openai/chunk_reader.h"
#include "generate/openai/sse_parser.h"

namespace specgen {
namespace {

constexpr std::size_t kStreamBytes = 1 << 20;
constexpr std::size_t kPieceBytes = 16 << 10;  // size of a read from a busy socket
constexpr int kRounds = 100;                   // the best one counts, as the machine may be busy

// One token per chunk, as servers send it; with occasional comments, escapes and non-ASCII text.
std::string make_stream() {
  constexpr std::array<std::string_view, 12> kTokens{
      " the", " tile", "\\n", " of",       " shared",       " memory",
      " is",  " 128",  ".",   " \\u00b5s", " \xE2\x89\xA4", ","};
  std::string stream;
  for (std::size_t i = 0; stream.size() < kStreamBytes; ++i) {
    stream += fmt::format(
        R"(data: {{"id":"chatcmpl-5f0c0a4e8d1b4b6a9a37","object":"chat.completion.chunk","created":1763191234,)"
        R"("model":"author/large-reasoner","choices":[{{"index":0,"delta":{{"reasoning_content":"{}"}},)"
        R"("logprobs":null,"finish_reason":null}}]}})"
        "\n\n",
        kTokens[i * i % kTokens.size()]);
    if (i % 1000 == 0) stream += ": keep-alive\n\n";
  }
  return stream;
}

struct Heard {
  std::size_t events = 0;
  std::size_t bytes = 0;  // of data, or of text
};

template <class OnEvent>
Heard listen(std::string_view stream, std::size_t piece_bytes, OnEvent on_event) {
  SseParser parser;
  Heard heard;
  auto drain = [&] {
    while (auto event = parser.next().value()) {
      ++heard.events;
      heard.bytes += on_event(*event);
    }
  };
  while (!stream.empty()) {
    std::string_view piece = stream.substr(0, piece_bytes);
    stream.remove_prefix(piece.size());
    parser.feed(piece);
    drain();
  }
  parser.finish();
  drain();
  return heard;
}

std::size_t data_only(const SseEvent& event) {
  return event.data.size();
}

// Megabytes per second, best of several rounds.
template <class Read>
double rate(std::string_view stream, Read read) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    Stopwatch watch;
    if (read().bytes == 0) std::abort();
    best = std::max(best, static_cast<double>(stream.size()) / 1e6 / watch.seconds());
  }
  return best;
}

}  // namespace

void bench_sse() {
  heading("Streams of answers: one core, one token a chunk of some 230 bytes");
  const std::string stream = make_stream();
  double events = rate(stream, [&] { return listen(stream, kPieceBytes, data_only); });
  double drips = rate(stream, [&] { return listen(stream, 100, data_only); });
  ChunkReader reader;
  std::size_t count = 0;
  double facts = rate(stream, [&] {
    Heard heard = listen(stream, kPieceBytes, [&](const SseEvent& event) {
      return reader.read(event.data).value().choices.at(0).reasoning.size();
    });
    count = heard.events;
    return heard;
  });
  at_least("events, in pieces of 16 KiB", events, 300, fmt::format("{:.0f} MB/s", events),
           "300 MB/s");
  at_least("events, in pieces of 100 bytes", drips, 300, fmt::format("{:.0f} MB/s", drips),
           "300 MB/s");
  note("events and their JSON", fmt::format("{:.0f} MB/s", facts));
  double chunk_bytes = static_cast<double>(stream.size()) / static_cast<double>(count);
  note("  a chunk", fmt::format("{:.2f} us", chunk_bytes / facts));
}

}  // namespace specgen
