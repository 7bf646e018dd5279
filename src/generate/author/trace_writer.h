#pragma once
// The pen behind reasoning.cc: paragraphs, drafts and digressions of one trace, with its tokens counted. It
// knows how to say things; what is said when is decided in reasoning.cc.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "generate/author/author_kernel.h"
#include "generate/author/learning.h"
#include "generate/author/phrases.h"

namespace specgen {

class TraceWriter {
 public:
  // What is written goes on from `so_far`.
  TraceWriter(const Assignment& assignment, std::string_view so_far);

  void paragraph(std::string_view text);
  void opening(const std::vector<Trial>& trials);
  void debate(const Decision& decision, const std::string& value, const std::vector<Trial>& trials);
  void change_of_mind(const Decision& decision, const std::string& value);
  void belief(const Mistake& mistake, bool is_held);
  void draft(bool again);
  void digression();
  void self_check();

  std::string say(std::string_view list, Phrases::Words words = {}) {
    return phrases_.say(list, words);
  }
  void discuss(std::string_view source);  // what digressions take their lines from
  std::int64_t draft_tokens() const { return draft_tokens_; }
  std::int64_t tokens() const { return tokens_; }  // written, without `so_far`
  Random& random() { return random_; }
  std::string finish();  // all of it, with one newline at the end

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
