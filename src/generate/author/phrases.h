#pragma once
// The author's stock of sentences, from phrases.txt. One Phrases belongs to one text: it remembers what it
// has said, and says the rest of a list before it repeats itself.

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
  using Words = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit Phrases(Random random) : random_(std::move(random)) {}

  // One sentence of the list, with {word} replaced by what is given for it.
  std::string say(std::string_view list, Words words = {});

 private:
  Random random_;
  std::map<std::string, std::vector<std::string_view>, std::less<>> unsaid_;
};

using PhraseLists = std::map<std::string, std::vector<std::string_view>, std::less<>>;
const PhraseLists& phrase_lists();

}  // namespace specgen
