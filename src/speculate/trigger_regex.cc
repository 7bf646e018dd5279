#include "speculate/trigger_regex.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <memory>
#include <optional>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxRegex = 1000;
constexpr std::size_t kMaxForms = 128;  // of one pattern, when it is told apart by length
constexpr int kDeepest = 16;            // groups in groups

using Bytes256 = std::bitset<256>;

// A tree of what may follow what.
struct Node {
  enum class Kind { bytes, sequence, choice } kind = Kind::sequence;
  Bytes256 bytes;                    // one of these
  std::vector<Node> parts;           // of a sequence, or the choices
  std::size_t fewest = 1, most = 1;  // how often, one after another
};

struct Mistake {
  std::string reason;
};
template <class T>
using Parsed = std::expected<T, Mistake>;

std::unexpected<Mistake> mistake(std::string reason) {
  return std::unexpected(Mistake{std::move(reason)});
}

std::size_t index(char c) {
  return static_cast<unsigned char>(c);
}

Bytes256 range(char first, char last) {
  Bytes256 bytes;
  for (std::size_t i = index(first); i <= index(last); ++i) bytes.set(i);
  return bytes;
}

Bytes256 of_class(char letter) {
  switch (letter) {
    case 'd':
      return range('0', '9');
    case 'w':
      return range('0', '9') | range('a', 'z') | range('A', 'Z') | range('_', '_');
    case 's':
      return range('\t', '\r') | range(' ', ' ');
    case 'D':
      return ~of_class('d');
    case 'W':
      return ~of_class('w');
    default:
      return ~of_class('s');
  }
}

Bytes256 in_either_case(Bytes256 bytes) {
  for (std::size_t i = 'a'; i <= 'z'; ++i) {
    std::size_t capital = i - 'a' + 'A';
    if (bytes[i] || bytes[capital]) bytes.set(i).set(capital);
  }
  return bytes;
}

class Parser {
 public:
  Parser(std::string_view regex, bool match_case) : rest_(regex), match_case_(match_case) {}

  Parsed<Node> whole() {
    if (rest_.size() > kMaxRegex) {
      return mistake(fmt::format("it is longer than {} characters", kMaxRegex));
    }
    Parsed<Node> node = choice(0);
    if (node && !rest_.empty()) return mistake("a ) closes nothing");
    return node;
  }

 private:
  Parsed<Node> choice(int depth) {
    if (depth > kDeepest) return mistake(fmt::format("groups are nested over {} deep", kDeepest));
    Node all;
    all.kind = Node::Kind::choice;
    do {
      Parsed<Node> one = sequence(depth);
      if (!one) return one;
      all.parts.push_back(std::move(*one));
    } while (take('|'));
    return all;
  }

  Parsed<Node> sequence(int depth) {
    Node all;
    while (!rest_.empty() && rest_[0] != '|' && rest_[0] != ')') {
      Parsed<Node> one = atom(depth);
      if (!one) return one;
      if (auto repeated = repeat(*one); !repeated) return std::unexpected(repeated.error());
      all.parts.push_back(std::move(*one));
    }
    return all;
  }

  Parsed<Node> atom(int depth) {
    char c = next();
    switch (c) {
      case '(':
        return group(depth);
      case '[':
        return one_of();
      case '.':
        return bytes(~range('\n', '\n'));
      case '^':
      case '$':
        return mistake(
            fmt::format("{} is not known; write \\n, which also stands before the first line", c));
      case '*':
      case '+':
      case '?':
      case '{':
        return mistake(fmt::format("there is nothing for {} to repeat", c));
      case '\\': {
        Parsed<Bytes256> escaped = escape();
        if (!escaped) return std::unexpected(escaped.error());
        return bytes(*escaped);
      }
      default:
        return bytes(range(c, c));
    }
  }

  Parsed<Node> group(int depth) {
    if (take('?') && !take(':')) return mistake("of the groups with (? only (?: is known");
    Parsed<Node> inside = choice(depth + 1);
    if (inside && !take(')')) return mistake("a ( is not closed");
    return inside;
  }

  Parsed<Node> one_of() {
    bool inverted = take('^');
    Bytes256 all;
    for (bool first = true; first || !take(']'); first = false) {
      if (rest_.empty()) return mistake("a [ is not closed");
      Parsed<Bytes256> low = class_item();
      if (!low) return std::unexpected(low.error());
      bool is_range = rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']';
      if (is_range) {
        next();
        Parsed<Bytes256> high = class_item();
        if (!high) return std::unexpected(high.error());
        if (low->count() != 1 || high->count() != 1 || low->_Find_first() > high->_Find_first()) {
          return mistake("a range in [ ] does not go from one character to a later one");
        }
        for (std::size_t i = low->_Find_first(); i <= high->_Find_first(); ++i) all.set(i);
      }
      all |= *low;
    }
    // What is left out is left out in either case, as what is meant is meant so.
    if (!match_case_) all = in_either_case(all);
    if (inverted) all = ~all;
    if (all.none()) return mistake("a [ ] matches nothing");
    return Node{.kind = Node::Kind::bytes, .bytes = all, .parts = {}};
  }

  Parsed<Bytes256> class_item() {
    char c = next();
    if (index(c) >= 0x80) {
      return mistake("[ ] takes ASCII only; write other characters as a choice (?:a|b)");
    }
    return c == '\\' ? escape() : Parsed<Bytes256>(range(c, c));
  }

  Parsed<Bytes256> escape() {
    if (rest_.empty()) return mistake("a \\ stands at the end");
    char c = next();
    if (std::string_view("dDwWsS").contains(c)) return of_class(c);
    if (c == 'n') return range('\n', '\n');
    if (c == 't') return range('\t', '\t');
    if (c == 'r') return range('\r', '\r');
    if (c == 'x') {
      auto digit = [](char d) {
        constexpr std::string_view kDigits = "0123456789abcdef0123456789ABCDEF";
        return kDigits.find(d) == std::string_view::npos ? 256 : kDigits.find(d) % 16;
      };
      std::size_t byte = rest_.size() < 2 ? 256 : 16 * digit(rest_[0]) + digit(rest_[1]);
      if (byte > 255) return mistake("\\x wants two hex digits");
      rest_.remove_prefix(2);
      return Bytes256().set(byte);
    }
    if (is_letter(c) || (c >= '0' && c <= '9') || index(c) >= 0x80) {
      return mistake(fmt::format("\\{} is not known; a word's end is written as what stands there",
                                 index(c) < 0x80 ? c : '?'));
    }
    return range(c, c);
  }

  Parsed<void> repeat(Node& node) {
    if (rest_.empty()) return {};
    switch (rest_[0]) {
      case '*':
      case '+':
        return mistake(fmt::format("{} has no bound; write for example {{{},8}}", rest_[0],
                                   rest_[0] == '+' ? 1 : 0));
      case '?':
        next();
        node.fewest = 0;
        break;
      case '{':
        next();
        if (auto counted = counts(node); !counted) return counted;
        break;
      default:
        return {};
    }
    if (!rest_.empty() && std::string_view("?*+{").contains(rest_[0])) {
      return mistake("a repeat is followed by another; put the first in a group");
    }
    return {};
  }

  Parsed<void> counts(Node& node) {
    auto fewest = number();
    if (!fewest) return mistake("{ wants a number, as in {2} or {0,8}");
    auto most = fewest;
    if (take(',')) most = number();
    if (!most) return mistake(fmt::format("{{{},}} has no bound", *fewest));
    if (!take('}')) return mistake("a { is not closed");
    if (*most < *fewest || *most == 0 || *most > kMaxMatch) {
      return mistake(
          fmt::format("{{{},{}}} is no number of times from 1 to {}", *fewest, *most, kMaxMatch));
    }
    node.fewest = *fewest;
    node.most = *most;
    return {};
  }

  std::optional<std::size_t> number() {
    std::optional<std::size_t> value;
    while (!rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9') {
      value = std::min<std::size_t>(10 * value.value_or(0) + index(next()) - '0', 1000);
    }
    return value;
  }

  Node bytes(Bytes256 set) const {
    if (!match_case_) set = in_either_case(set);
    return Node{.kind = Node::Kind::bytes, .bytes = set, .parts = {}};
  }

  char next() {
    char c = rest_[0];
    rest_.remove_prefix(1);
    return c;
  }
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view rest_;
  bool match_case_;
};

struct Lengths {
  std::size_t shortest = 0;
  std::size_t longest = 0;
};

// Saturates: a pattern of a thousand characters may ask for more than fits a number.
std::size_t times(std::size_t a, std::size_t b) {
  constexpr std::size_t kMax = 1 << 20;
  return a > 0 && b > kMax / a ? kMax : std::min(kMax, a * b);
}

Lengths lengths_of(const Node& node) {
  Lengths lengths;
  if (node.kind == Node::Kind::bytes) lengths = {1, 1};
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    Lengths part = lengths_of(node.parts[i]);
    if (node.kind == Node::Kind::sequence) {
      lengths = {lengths.shortest + part.shortest, lengths.longest + part.longest};
    } else if (i == 0) {
      lengths = part;
    } else {
      lengths = {std::min(lengths.shortest, part.shortest),
                 std::max(lengths.longest, part.longest)};
    }
  }
  return {times(lengths.shortest, node.fewest), times(lengths.longest, node.most)};
}

std::string byte_text(std::size_t byte) {
  return fmt::format("\\x{:02x}", byte);
}

std::string text_of(const Bytes256& bytes) {
  if (bytes.count() == 1) return byte_text(bytes._Find_first());
  std::string text = "[";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!bytes[i]) continue;
    std::size_t last = i;
    while (last + 1 < bytes.size() && bytes[last + 1]) ++last;
    text += byte_text(i);
    if (last > i) text += "-" + byte_text(last);
    i = last;
  }
  return text + "]";
}

std::string text_of(const Node& node) {
  std::string text;
  if (node.kind == Node::Kind::bytes) {
    text = text_of(node.bytes);
  } else {
    bool is_choice = node.kind == Node::Kind::choice;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      text += (is_choice && i > 0 ? "|" : "") + text_of(node.parts[i]);
    }
    text = "(?:" + text + ")";
  }
  if (node.fewest == 1 && node.most == 1) return text;
  return text + fmt::format("{{{},{}}}", node.fewest, node.most);
}

// One way to match: a class of bytes for each byte.
using Form = std::vector<Bytes256>;

// All ways; nothing if there are too many.
std::optional<std::vector<Form>> joined(const std::vector<Form>& fronts,
                                        const std::vector<Form>& backs) {
  if (fronts.size() * backs.size() > kMaxForms) return std::nullopt;
  std::vector<Form> all;
  for (const Form& front : fronts) {
    for (const Form& back : backs) {
      all.push_back(front);
      all.back().insert(all.back().end(), back.begin(), back.end());
    }
  }
  return all;
}

std::optional<std::vector<Form>> forms_of(const Node& node) {
  std::vector<Form> once{Form()};
  if (node.kind == Node::Kind::bytes) {
    once = {Form{node.bytes}};
  } else if (node.kind == Node::Kind::choice) {
    once.clear();
    for (const Node& part : node.parts) {
      auto forms = forms_of(part);
      if (!forms || once.size() + forms->size() > kMaxForms) return std::nullopt;
      once.insert(once.end(), forms->begin(), forms->end());
    }
  } else {
    for (const Node& part : node.parts) {
      auto forms = forms_of(part);
      auto longer = forms ? joined(once, *forms) : std::nullopt;
      if (!longer) return std::nullopt;
      once = std::move(*longer);
    }
  }
  if (node.fewest == 1 && node.most == 1) return once;
  std::vector<Form> all, repeated{Form()};
  for (std::size_t count = 0; count <= node.most; ++count) {
    if (count >= node.fewest) all.insert(all.end(), repeated.begin(), repeated.end());
    if (all.size() > kMaxForms) return std::nullopt;
    auto longer = count < node.most ? joined(repeated, once) : std::optional(repeated);
    if (!longer) return std::nullopt;
    repeated = std::move(*longer);
  }
  return all;
}

Parsed<Node> checked(std::string_view regex, bool match_case) {
  Parsed<Node> node = Parser(regex, match_case).whole();
  if (!node) return node;
  Lengths lengths = lengths_of(*node);
  if (lengths.shortest == 0) return mistake("it can match nothing at all");
  if (lengths.longest > kMaxMatch) {
    return mistake(
        fmt::format("it can match {} bytes; the most is {}", lengths.longest, kMaxMatch));
  }
  return node;
}

}  // namespace

std::expected<PortableRegex, std::string> portable_regex(std::string_view regex, bool match_case) {
  Parsed<Node> node = checked(regex, match_case);
  if (!node) return std::unexpected(node.error().reason);
  Lengths lengths = lengths_of(*node);
  return PortableRegex{text_of(*node), lengths.shortest, lengths.longest};
}

std::expected<std::vector<PortableRegex>, std::string> regexes_by_length(std::string_view regex,
                                                                         bool match_case) {
  Parsed<Node> node = checked(regex, match_case);
  if (!node) return std::unexpected(node.error().reason);
  auto forms = forms_of(*node);
  if (!forms) {
    return std::unexpected(
        fmt::format("it has more than {} forms, too many to cut before it", kMaxForms));
  }
  std::map<std::size_t, PortableRegex> by_length;
  for (const Form& form : *forms) {
    auto first = std::ranges::find_if(
        form, [](const Bytes256& bytes) { return (bytes & of_class('w')).any(); });
    auto words = static_cast<std::size_t>(form.end() - first);
    auto [place, fresh] = by_length.try_emplace(words, "", form.size(), form.size(), words);
    PortableRegex& part = place->second;
    part.shortest = std::min(part.shortest, form.size());
    part.longest = std::max(part.longest, form.size());
    if (!fresh) part.text += '|';
    for (const Bytes256& bytes : form) part.text += text_of(bytes);
  }
  std::vector<PortableRegex> all;
  for (auto& [words, part] : by_length) {
    part.text = "(?:" + part.text + ")";
    all.push_back(std::move(part));
  }
  return all;
}

}  // namespace specgen
