#pragma once
// The author's sentences, from phrases.txt. A Phrases belongs to one text: it uses every sentence of a list before it
// repeats one.

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"

namespace specgen {

class Phrases {
 public:
  using Values = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Phrases(Random random) : random_(std::move(random)) {}

  // A sentence of the list with every {name} replaced by its value.
  std::string say(std::string_view list, Values values = {});

 private:
  Random random_;
  std::map<std::string, std::vector<std::string_view>, std::less<>> unused_;
};

using PhraseLists = std::map<std::string, std::vector<std::string_view>, std::less<>>;
const PhraseLists& phrase_lists();

}  // namespace specgen
