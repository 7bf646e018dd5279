#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "speculate/trigger_engine.h"

namespace specgen {

// The end of what was scanned: a match may have begun there.
struct EngineStream {
  std::uint64_t position = 0;
  std::uint8_t tail_bytes = 0;
  char tail[kMaxMatch - 1];
};

namespace {

// RE2 (2022-06) finds nothing where all choices begin with the same byte above 0x7f: it looks for that beginning
// first, as UTF-8. With any byte allowed in front there is no such beginning, and whether there is a match is the same.
constexpr std::string_view kAnyByte = "(?s:.?)";

RE2::Options options() {
  RE2::Options options(RE2::Latin1);  // bytes
  options.set_log_errors(false);
  options.set_never_capture(true);
  return options;
}

class Re2Engine final : public TriggerEngine {
 public:
  explicit Re2Engine(const std::vector<PortableRegex>& patterns) {
    std::string any;
    for (const PortableRegex& pattern : patterns) {
      any += (any.empty() ? "" : "|") + pattern.text;
      anywhere_.push_back(
          std::make_unique<RE2>(fmt::format("{}(?:{})", kAnyByte, pattern.text), options()));
      at_end_.push_back(std::make_unique<RE2>("(?:" + pattern.text + ")\\z", options()));
      longest_.push_back(pattern.longest);
      tail_bytes_ = std::max(tail_bytes_, pattern.longest - 1);
    }
    any_ = std::make_unique<RE2>(fmt::format("{}(?:{})", kAnyByte, any), options());
  }

  // Why it cannot be used; empty if it can.
  std::string trouble() const {
    for (std::size_t i = 0; i < at_end_.size(); ++i) {
      if (!at_end_[i]->ok()) return fmt::format("pattern {}: {}", i, at_end_[i]->error());
    }
    return any_->ok() ? std::string() : any_->error();
  }

  std::string_view name() const override { return "re2"; }
  std::size_t stream_bytes() const override { return sizeof(EngineStream); }
  EngineStream* open() override { return new EngineStream; }
  void close(EngineStream* stream) override { delete stream; }

  void scan(EngineStream* stream, std::string_view text,
            std::vector<EngineMatch>& matches) override {
    window_.assign(stream->tail, stream->tail_bytes).append(text);
    std::size_t old = stream->tail_bytes;
    // Most pieces have nothing: one look tells.
    if (!at_end_.empty() && matches_in(*any_, window_)) find_all(*stream, old, matches);
    stream->position += text.size();
    stream->tail_bytes = static_cast<std::uint8_t>(std::min(tail_bytes_, window_.size()));
    std::memcpy(stream->tail, window_.data() + window_.size() - stream->tail_bytes,
                stream->tail_bytes);
  }

 private:
  static bool matches_in(const RE2& regex, std::string_view text) {
    return regex.Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, nullptr, 0);
  }

  void find_all(const EngineStream& stream, std::size_t old, std::vector<EngineMatch>& matches) {
    const std::string_view window(window_);
    for (std::uint32_t i = 0; i < at_end_.size(); ++i) {
      // No match that ends in what is new begins before this.
      std::size_t earliest = old + 1 - std::min(longest_[i], old + 1);
      if (!matches_in(*anywhere_[i], window.substr(earliest))) continue;
      for (std::size_t end = old + 1; end <= window.size(); ++end) {
        std::size_t begin = end - std::min(longest_[i], end);
        if (matches_in(*at_end_[i], window.substr(begin, end - begin))) {
          matches.push_back({stream.position + end - old, i});
        }
      }
    }
  }

  std::unique_ptr<RE2> any_;
  std::vector<std::unique_ptr<RE2>> anywhere_;  // a pattern each
  std::vector<std::unique_ptr<RE2>> at_end_;
  std::vector<std::size_t> longest_;
  std::size_t tail_bytes_ = 0;
  std::string window_;  // reused from call to call
};

}  // namespace

Result<std::unique_ptr<TriggerEngine>> make_re2_engine(const std::vector<PortableRegex>& patterns) {
  auto engine = std::make_unique<Re2Engine>(patterns);
  if (std::string trouble = engine->trouble(); !trouble.empty()) {
    return fail(ErrorCode::bad_triggers, "RE2 refuses " + trouble);
  }
  return engine;
}

}  // namespace specgen
