#pragma once
// Writes the text of one synthetic reasoning trace: paragraphs, drafts and digressions, with its tokens counted.
// reasoning.cc decides what is written when. Private to reasoning.cc.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generate/author/author_kernel.h"
#include "generate/author/learning.h"
#include "generate/author/phrases.h"

namespace specgen {

class ReasoningWriter {
 public:
  // The text continues `so_far`.
  ReasoningWriter(const Assignment& assignment, std::string_view so_far);

  void paragraph(std::string_view text);
  void opening(const std::vector<Trial>& trials);
  void debate(const Decision& decision, const std::string& value, const std::vector<Trial>& trials);
  void change_of_mind(const Decision& decision, const std::string& value);
  void belief(const Mistake& mistake, bool is_held);
  void draft(bool again);
  void digression();
  void self_check();

  std::string say(std::string_view list, Phrases::Values values = {}) {
    return phrases_.say(list, values);
  }
  void discuss(std::string_view source);  // digressions quote its lines
  std::int64_t draft_tokens() const { return draft_tokens_; }
  std::int64_t tokens() const { return tokens_; }  // written, without `so_far`
  Random& random() { return random_; }
  std::string finish();  // the text after `so_far`, with one newline at the end

 private:
  void add(std::string_view text);
  std::string about_a_line();

  const Assignment& assignment_;
  Random random_;
  Phrases phrases_;
  std::string text_;
  std::size_t begin_;
  std::int64_t tokens_ = 0;
  std::int64_t draft_tokens_ = 0;
  std::vector<std::string> lines_;
};

}  // namespace specgen
