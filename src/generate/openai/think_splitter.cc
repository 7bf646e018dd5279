#include "generate/openai/think_splitter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace specgen {
namespace {

struct Tag {
  std::string_view opener;
  std::string_view closer;
};
constexpr std::array kTags{Tag{"<think>", "</think>"}, Tag{"<thinking>", "</thinking>"}};

constexpr std::size_t kMaxSpace = 4096;  // before an opening tag

bool begins_or_may(std::string_view text, std::string_view tag) {
  return text.starts_with(tag) || tag.starts_with(text);
}

// The length of the longest suffix that may be the beginning of the tag.
std::size_t tail_of(std::string_view text, std::string_view tag) {
  std::size_t longest = std::min(text.size(), tag.size() - 1);
  for (std::size_t length = longest; length > 0; --length) {
    if (tag.starts_with(text.substr(text.size() - length))) return length;
  }
  return 0;
}

}  // namespace

ThinkSplitter::Parts ThinkSplitter::feed(std::string_view text) {
  Parts parts;
  if (state_ == State::content) {
    parts.content = text;
    return parts;
  }
  held_ += text;
  advance(parts, false);
  return parts;
}

ThinkSplitter::Parts ThinkSplitter::flush() {
  Parts parts;
  advance(parts, true);
  return parts;
}

void ThinkSplitter::advance(Parts& parts, bool at_end) {
  if (state_ == State::before) find_opener(at_end);
  if (state_ == State::after_opener) drop_line_end(at_end);
  if (state_ == State::reasoning) find_closer(parts, at_end);
  if (state_ == State::after_closer) {
    held_.erase(0, held_.find_first_not_of("\r\n"));
    if (!held_.empty()) state_ = State::content;
  }
  if (state_ == State::content) parts.content += std::exchange(held_, {});
}

void ThinkSplitter::find_opener(bool at_end) {
  std::size_t space = std::min(held_.size(), kMaxSpace + 1);
  space = static_cast<std::size_t>(
      std::find_if_not(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(space),
                       is_space) -
      held_.begin());
  std::string_view text = std::string_view(held_).substr(space);
  if (space <= kMaxSpace) {
    for (const Tag& tag : kTags) {
      if (text.starts_with(tag.opener)) {
        closer_ = tag.closer;
        held_.erase(0, space + tag.opener.size());
        state_ = State::after_opener;
        return;
      }
    }
    bool may_come =
        std::ranges::any_of(kTags, [&](const Tag& tag) { return begins_or_may(text, tag.opener); });
    if (may_come && !at_end) return;
  }
  state_ = opener_ == Opener::in_prompt ? State::reasoning : State::content;
}

void ThinkSplitter::drop_line_end(bool at_end) {
  if (held_.empty() || (held_ == "\r" && !at_end)) return;
  std::size_t line_end = held_.starts_with("\r\n") ? 2 : held_.starts_with('\n') ? 1 : 0;
  held_.erase(0, line_end);
  state_ = State::reasoning;
}

void ThinkSplitter::find_closer(Parts& parts, bool at_end) {
  std::size_t found = std::string::npos, found_length = 0, tail = 0;
  for (const Tag& tag : kTags) {
    if (!closer_.empty() && closer_ != tag.closer) continue;
    std::size_t at = held_.find(tag.closer);
    if (at < found) {
      found = at;
      found_length = tag.closer.size();
    }
    tail = std::max(tail, tail_of(held_, tag.closer));
  }
  if (found != std::string::npos) {
    parts.reasoning.append(held_, 0, found);
    held_.erase(0, found + found_length);
    state_ = State::after_closer;
    return;
  }
  std::size_t ready = at_end ? held_.size() : held_.size() - tail;
  parts.reasoning.append(held_, 0, ready);
  held_.erase(0, ready);
}

}  // namespace specgen
