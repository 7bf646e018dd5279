#include "search/prompt_template.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kDeepest = 8;  // parts within parts

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool begins_tag(std::string_view text) {
  std::string_view inside = text.substr(2);
  while (inside.starts_with(' ')) inside.remove_prefix(1);
  return !inside.empty() &&
         (is_letter(inside[0]) || inside[0] == '#' || inside[0] == '/' || inside[0] == '>');
}

std::size_t find_tag(std::string_view text) {
  for (std::size_t at = text.find("{{"); at != std::string_view::npos;
       at = text.find("{{", at + 1)) {
    if (begins_tag(text.substr(at))) return at;
  }
  return std::string_view::npos;
}

}  // namespace

class PromptTemplate::Parser {
 public:
  Parser(const PromptNames& names, const FindPart& find_part)
      : names_(names), find_part_(find_part) {}

  Result<std::vector<Node>> parse(const PromptFile& file, bool in_list) {
    if (++depth_ > kDeepest) {
      return fail(ErrorCode::bad_prompt,
                  fmt::format("{}: parts are nested more than {} deep", file.path, kDeepest));
    }
    Place outside = std::exchange(place_, {.path = file.path, .rest = file.text});
    auto nodes = section({}, in_list);
    place_ = std::move(outside);
    --depth_;
    return nodes;
  }

 private:
  struct Place {
    std::string path;
    std::string_view rest;
    int line = 1;
    int tag_line = 1;           // of the tag that is being read
    bool line_is_blank = true;  // what stands before `rest` on its line
  };

  std::unexpected<Error> wrong(std::string what) const {
    return fail(ErrorCode::bad_prompt,
                fmt::format("{}:{}: {}", place_.path, place_.tag_line, what));
  }

  // Until {{/name}}; the whole file if there is no name.
  Result<std::vector<Node>> section(std::string_view name, bool in_list) {
    int begun_at = place_.tag_line;
    std::vector<Node> nodes;
    while (true) {
      std::size_t at = std::min(find_tag(place_.rest), place_.rest.size());
      pass(at, nodes);
      if (place_.rest.empty()) break;
      place_.tag_line = place_.line;
      std::size_t end = place_.rest.find("}}");
      if (end == std::string_view::npos || place_.rest.substr(0, end).contains('\n')) {
        return wrong("a tag is not closed by }}");
      }
      std::string_view tag = trim(place_.rest.substr(2, end - 2));
      char sign = is_letter(tag[0]) ? ' ' : tag[0];
      std::string_view named = sign == ' ' ? tag : trim(tag.substr(1));
      if (sign != ' ') take_line_with(end + 2, nodes);
      if (sign == ' ') skip(end + 2);
      if (sign == '/') {
        if (named != name || name.empty()) {
          return wrong(fmt::format("{{{{/{}}}}} closes nothing", named));
        }
        return nodes;
      }
      TRY(take(sign, named, in_list, nodes));
    }
    if (name.empty()) return nodes;
    place_.tag_line = begun_at;
    return wrong(fmt::format("{{{{#{}}}}} is not closed", name));
  }

  Result<void> take(char sign, std::string_view name, bool in_list, std::vector<Node>& nodes) {
    if (sign == '>') {
      auto part = find_part_(name);
      if (!part) return wrong(fmt::format("there is no part '{}.md'", name));
      std::vector<Node> inside = TRY(parse(*part, in_list));
      std::ranges::move(inside, std::back_inserter(nodes));
      return {};
    }
    bool is_list = sign == '#' && holds(names_.lists, name);
    if (!is_list && !holds(names_.texts, name) && !(in_list && holds(names_.in_lists, name))) {
      std::vector<std::string> known = names_.texts;
      if (sign == '#') known.insert(known.end(), names_.lists.begin(), names_.lists.end());
      if (in_list) known.insert(known.end(), names_.in_lists.begin(), names_.in_lists.end());
      return wrong(fmt::format("there is no name '{}'{}", name, did_you_mean(name, known)));
    }
    Node node{sign == '#' ? Kind::section : Kind::name, std::string(name)};
    if (sign == '#') node.inside = TRY(section(name, in_list || is_list));
    nodes.push_back(std::move(node));
    return {};
  }

  // Text up to here.
  void pass(std::size_t length, std::vector<Node>& nodes) {
    if (length == 0) return;
    nodes.push_back({Kind::text, std::string(place_.rest.substr(0, length))});
    skip(length);
  }

  void skip(std::size_t length) {
    for (char c : place_.rest.substr(0, length)) {
      if (c == '\n') {
        ++place_.line;
        place_.line_is_blank = true;
      } else if (!is_space(c)) {
        place_.line_is_blank = false;
      }
    }
    place_.rest.remove_prefix(length);
  }

  // A tag alone on its line: neither the blanks before it nor the line's end are text.
  void take_line_with(std::size_t length, std::vector<Node>& nodes) {
    std::string_view behind = place_.rest.substr(length);
    std::size_t line_end = std::min(behind.find('\n'), behind.size());
    bool alone = place_.line_is_blank && trim(behind.substr(0, line_end)).empty();
    place_.line_is_blank = false;
    place_.rest.remove_prefix(length);
    if (!alone) return;
    if (!nodes.empty() && nodes.back().kind == Kind::text) {
      std::string& text = nodes.back().text;
      while (text.ends_with(' ') || text.ends_with('\t')) text.pop_back();
    }
    skip(std::min(line_end + 1, place_.rest.size()));
  }

  const PromptNames& names_;
  const FindPart& find_part_;
  Place place_;
  std::size_t depth_ = 0;
};

Result<PromptTemplate> PromptTemplate::parse(const PromptFile& file, const PromptNames& names,
                                             const FindPart& find_part) {
  PromptTemplate made;
  made.nodes_ = TRY(Parser(names, find_part).parse(file, false));
  return made;
}

std::string PromptTemplate::render(const PromptValues& values) const {
  std::string text;
  render(nodes_, values, nullptr, text);
  return text;
}

void PromptTemplate::render(const std::vector<Node>& nodes, const PromptValues& values,
                            const PromptTexts* item, std::string& into) {
  auto value_of = [&](const std::string& name) -> std::string_view {
    if (item) {
      if (auto found = item->find(name); found != item->end()) return found->second;
    }
    auto found = values.texts.find(name);
    return found == values.texts.end() ? std::string_view() : found->second;
  };
  for (const Node& node : nodes) {
    if (node.kind == Kind::text) {
      into += node.text;
    } else if (node.kind == Kind::name) {
      into += value_of(node.text);
    } else if (auto list = values.lists.find(node.text); list != values.lists.end()) {
      for (const PromptTexts& each : list->second) render(node.inside, values, &each, into);
    } else if (!trim(value_of(node.text)).empty()) {
      render(node.inside, values, item, into);
    }
  }
}

}  // namespace specgen
