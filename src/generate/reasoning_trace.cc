#include "generate/reasoning_trace.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "generate/answer/fences.h"

namespace specgen {
namespace {

// The quality of a place to cut, worst first.
enum Boundary : std::size_t { character, word, sentence, line, paragraph, kBoundaries };

// How far back to search for a better place: the most recent reasoning matters most to a fork.
constexpr std::array<std::size_t, kBoundaries> kReach{0, 128, 128, 128, 256};
constexpr std::size_t kFarthest = 256;

bool ends_blank_line(std::string_view before) {
  before.remove_suffix(1);
  std::size_t last = before.find_last_not_of(" \t\r");
  return last != std::string_view::npos && before[last] == '\n';
}

// Where a text can be cut, regardless of tokens.
class Places {
 public:
  explicit Places(std::string_view text) : text_(text), blocks_(find_code_blocks(text)) {}

  bool allowed(std::size_t at) const {
    if (at == 0 || at > text_.size()) return false;
    bool inside_character =
        at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U;
    return !inside_character && (text_[at - 1] == '\n' || !block_at(at));
  }

  // The quality of an allowed place. Tokens include the space before a word and all line ends after it, so these
  // stay together. At the end of the text a word may still continue.
  Boundary boundary(std::size_t at) const {
    bool at_end = at == text_.size();
    char last = text_[at - 1];
    bool ends_line = last == '\n' && (at_end || (text_[at] != '\n' && text_[at] != '\r'));
    // A blank line inside finished code is not the end of a paragraph; the end of the block is.
    if (const CodeBlock* block = block_at(at); block && block->closed) {
      return !ends_line ? character : at == block->end ? paragraph : word;
    }
    if (ends_line) return ends_blank_line(text_.substr(0, at)) ? paragraph : line;
    if (at_end || !is_space(text_[at]) || is_space(last)) return character;
    return last == '.' || last == '!' || last == '?' ? sentence : word;
  }

 private:
  // The block that contains the character before the place; null if none does.
  const CodeBlock* block_at(std::size_t at) const {
    auto after = std::ranges::upper_bound(blocks_, at - 1, {}, &CodeBlock::begin);
    if (after == blocks_.begin() || at > std::prev(after)->end) return nullptr;
    return &*std::prev(after);
  }

  std::string_view text_;
  std::vector<CodeBlock> blocks_;
};

// Chooses the best place within its reach, of places offered from the nearest to the farthest.
class BestCut {
 public:
  explicit BestCut(std::size_t wanted) : wanted_(wanted) { nearest_.fill(0); }

  // Whether a place farther back could still be chosen.
  bool offer(std::size_t at, Boundary boundary) {
    if (nearest_[character] == 0) nearest_[character] = at;  // any place is one
    if (nearest_[boundary] == 0 && wanted_ - at <= kReach[boundary]) nearest_[boundary] = at;
    return nearest_[paragraph] == 0 && wanted_ - at < kFarthest;
  }

  std::size_t best() const {
    for (std::size_t i = kBoundaries; i-- > 0;) {
      if (nearest_[i] > 0) return nearest_[i];
    }
    return 0;
  }

 private:
  std::size_t wanted_;
  std::array<std::size_t, kBoundaries> nearest_{};
};

}  // namespace

void ReasoningTrace::add(const PromptTokens& prompt) {
  prompt_ids_ = prompt.token_ids;
}

void ReasoningTrace::add(const Delta& delta) {
  if (delta.kind != DeltaKind::reasoning || delta.choice != 0) return;
  text_ += delta.text;
  if (delta.token_ids.empty() && !delta.text.empty()) ids_complete_ = false;
  if (!ids_complete_) return;
  token_ids_.insert(token_ids_.end(), delta.token_ids.begin(), delta.token_ids.end());
  // Tokens without text belong to text that has not arrived yet, or to none: not a place to cut.
  if (!delta.text.empty()) ends_.push_back({text_.size(), token_ids_.size()});
}

std::int64_t ReasoningTrace::tokens() const {
  return ids_complete_ ? static_cast<std::int64_t>(token_ids_.size()) : estimate_tokens(text_);
}

std::size_t ReasoningTrace::safe_cut(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  Places places(text_);
  BestCut cut(offset);
  if (has_ids(offset)) {
    auto end = std::ranges::upper_bound(ends_, offset, {}, &TokenEnd::text_end);
    for (bool more = true; more && end != ends_.begin();) {
      std::size_t at = (--end)->text_end;
      if (places.allowed(at)) more = cut.offer(at, places.boundary(at));
    }
  } else {
    bool more = true;
    for (std::size_t at = offset; more && at > 0; --at) {
      if (places.allowed(at)) more = cut.offer(at, places.boundary(at));
    }
  }
  return cut.best();
}

ReasoningPrefix ReasoningTrace::prefix(std::size_t offset) const {
  ReasoningPrefix prefix;
  std::size_t cut = safe_cut(offset);
  prefix.text = text_.substr(0, cut);
  if (cut == 0 || prompt_ids_.empty() || !has_ids(offset)) return prefix;
  auto end = std::ranges::lower_bound(ends_, cut, {}, &TokenEnd::text_end);
  prefix.token_ids = prompt_ids_;
  prefix.token_ids.insert(prefix.token_ids.end(), token_ids_.begin(),
                          token_ids_.begin() + static_cast<std::ptrdiff_t>(end->tokens_end));
  return prefix;
}

bool ReasoningTrace::has_ids(std::size_t offset) const {
  if (ends_.empty()) return false;
  return ids_complete_ || std::min(offset, text_.size()) <= ends_.back().text_end;
}

}  // namespace specgen
