#pragma once
// Text with holes, for prompts:
//
//   {{name}}                      what it stands for; nothing is looked for inside of that
//   {{#name}} ... {{/name}}       left out if `name` stands for nothing; repeated for every item if it is a list
//   {{>part}}                     the text of another file
//
// A tag of the last two kinds that stands alone on its line takes the line with it. Two braces that are followed,
// after blanks, by neither a letter nor one of # / > are text. An unknown name is an error with file and line.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

using PromptTexts = std::map<std::string, std::string, std::less<>>;

struct PromptValues {
  PromptTexts texts;
  std::map<std::string, std::vector<PromptTexts>, std::less<>> lists;
};

// What a template may ask for.
struct PromptNames {
  std::vector<std::string> texts;
  std::vector<std::string> lists;
  std::vector<std::string> in_lists;  // inside of a list's section only
};

struct PromptFile {
  std::string path;  // for error messages
  std::string text;
};
using FindPart = std::function<Result<PromptFile>(std::string_view name)>;

class PromptTemplate {
 public:
  // bad_prompt: "prompts/refine.md:12: there is no name 'parnet'; did you mean 'parent'?"
  static Result<PromptTemplate> parse(const PromptFile& file, const PromptNames& names,
                                      const FindPart& find_part);

  std::string render(const PromptValues& values) const;

 private:
  enum class Kind : std::uint8_t { text, name, section };
  struct Node {
    Kind kind = Kind::text;
    std::string text;  // or the name
    std::vector<Node> inside = {};
  };
  class Parser;
  static void render(const std::vector<Node>& nodes, const PromptValues& values,
                     const PromptTexts* item, std::string& into);

  std::vector<Node> nodes_;
};

}  // namespace specgen
