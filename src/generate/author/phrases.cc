#include "generate/author/phrases.h"

#include "base/assert.h"
#include "base/text.h"

namespace specgen {

std::string_view embedded_phrases();  // generated

const PhraseLists& phrase_lists() {
  static const PhraseLists lists = [] {
    PhraseLists all;
    std::vector<std::string_view>* current = nullptr;
    for (std::string_view line : split(embedded_phrases(), '\n')) {
      if (line.starts_with('[') && line.ends_with(']')) {
        current = &all[std::string(line.substr(1, line.size() - 2))];
      } else if (current && !line.empty()) {
        current->push_back(line);
      }
    }
    return all;
  }();
  return lists;
}

std::string Phrases::say(std::string_view list, Values values) {
  auto known = phrase_lists().find(list);
  SG_ASSERT(known != phrase_lists().end(), "phrases.txt has no such list");
  auto& left = unused_[std::string(list)];
  if (left.empty()) {
    left = known->second;
    random_.shuffle(left);
  }
  std::string_view phrase = left.back();
  left.pop_back();

  std::string said;
  while (!phrase.empty()) {
    std::size_t open = phrase.find('{');
    said += phrase.substr(0, open);
    if (open == std::string_view::npos) break;
    std::size_t close = phrase.find('}', open);
    SG_ASSERT(close != std::string_view::npos, "phrases.txt has an open brace");
    std::string_view name = phrase.substr(open + 1, close - open - 1);
    auto value = std::ranges::find(values, name, [](const auto& each) { return each.first; });
    SG_ASSERT(value != values.end(), "phrases.txt uses a name that has no value");
    said += value->second;
    phrase.remove_prefix(close + 1);
  }
  return said;
}

}  // namespace specgen
