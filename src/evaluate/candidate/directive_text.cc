#include "evaluate/candidate/directive_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace specgen {
namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::size_t kMaxArguments = 64;
constexpr std::size_t kMaxTemplateArguments = 32;

std::unexpected<std::string> because(std::string reason) {
  return std::unexpected(std::move(reason));
}

// Where the bracket that opens at `open` closes. `nests` are pairs: "()[]".
std::size_t closing(std::string_view text, std::size_t open, std::string_view nests) {
  std::vector<char> expected;
  for (std::size_t i = open; i < text.size(); ++i) {
    std::size_t kind = nests.find(text[i]);
    if (kind == npos) continue;
    // A comparison inside parentheses is not a bracket.
    bool angle = text[i] == '<' || text[i] == '>';
    if (angle && !expected.empty() && expected.back() == ')') continue;
    if (kind % 2 == 0) {
      expected.push_back(nests[kind + 1]);
    } else {
      if (expected.empty() || expected.back() != text[i]) return npos;
      expected.pop_back();
      if (expected.empty()) return i;
    }
  }
  return npos;
}

std::vector<std::string_view> split_nested(std::string_view text, std::string_view nests) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t kind = nests.find(text[i]);
    if (kind != npos && kind % 2 == 0) {
      std::size_t close = closing(text, i, nests);
      if (close == npos) break;  // parsing the part reports the mistake
      i = close;
    } else if (text[i] == ',') {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  parts.push_back(trim(text.substr(begin)));
  return parts;
}

// "1.5", "1e-5f", "-0.5"; nothing if it is an integer or not a number.
std::optional<Understood<double>> float_literal(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::string_view unsigned_digits = digits;
  if (unsigned_digits.starts_with('-')) unsigned_digits.remove_prefix(1);
  bool begins =
      !unsigned_digits.empty() &&
      (unsigned_digits[0] == '.' || (unsigned_digits[0] >= '0' && unsigned_digits[0] <= '9'));
  if (!begins || unsigned_digits.find_first_of(".eE") == npos) return std::nullopt;
  if (digits.ends_with('f') || digits.ends_with('F')) digits.remove_suffix(1);
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::result_out_of_range) {
    return because(fmt::format("'{}' is out of range", excerpt(text)));
  }
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

Understood<std::array<Expression, 3>> parse_dimensions(std::string_view text,
                                                       std::string_view what) {
  if (text.empty()) return because(fmt::format("{} is missing", what));
  std::array<Expression, 3> dimensions{Expression::constant(1), Expression::constant(1),
                                       Expression::constant(1)};
  auto list = inside_call(text, "");
  if (!list) list = inside_call(text, "dim3");
  std::vector<std::string_view> parts = list ? split_list(*list) : std::vector{text};
  if (parts.size() > 3) {
    return because(fmt::format("{} has {} dimensions; the limit is 3", what, parts.size()));
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto parsed = parse_expression(parts[i]);
    if (!parsed) return because(fmt::format("{}: {}", what, parsed.error()));
    dimensions[i] = std::move(*parsed);
  }
  return dimensions;
}

Understood<LaunchArgument> parse_argument(std::string_view text) {
  if (text.empty()) return because("an argument is empty");
  if (auto real = float_literal(text)) {
    if (!*real) return because(real->error());
    return RealArgument{**real};
  }
  std::size_t name_end = 0;  // a name may have dots: the axes x.0, x.1
  while (name_end < text.size() && (is_name_character(text[name_end]) || text[name_end] == '.')) {
    ++name_end;
  }
  bool name = name_end > 0 && !(text[0] >= '0' && text[0] <= '9') && text[0] != '.';
  if (name && name_end == text.size()) return NamedArgument{std::string(text)};
  std::string_view rest = trim(text.substr(name_end));
  if (name && rest.starts_with('+')) {
    TRY(parse_expression(text));  // for its error message, which points at the mistake
    return PointerArgument{std::string(text.substr(0, name_end)),
                           TRY(parse_expression(rest.substr(1)))};
  }
  return IntegerArgument{TRY(parse_expression(text))};
}

Understood<void> parse_configuration(std::string_view text, LaunchSpec& launch) {
  std::vector<std::string_view> parts = split_list(text);
  launch.grid = TRY(parse_dimensions(parts[0], "grid"));
  launch.block = TRY(parse_dimensions(parts.size() > 1 ? parts[1] : "", "block"));
  for (std::size_t i = 2; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    std::string_view value = part.starts_with("cluster") ? trim(part.substr(7)) : "";
    if (part == "cooperative") {
      if (launch.cooperative) return because("'cooperative' appears twice");
      launch.cooperative = true;
    } else if (value.starts_with('=')) {
      if (launch.cluster) return because("'cluster' appears twice");
      launch.cluster = TRY(parse_dimensions(trim(value.substr(1)), "cluster"));
    } else if (i == 2) {
      auto shared = parse_expression(part);
      if (!shared) return because("shared memory: " + shared.error());
      launch.shared_bytes = std::move(*shared);
    } else {
      return because(
          fmt::format("'{}' is neither 'cooperative' nor 'cluster=(x,y,z)'", excerpt(part)));
    }
  }
  return {};
}

Understood<void> parse_template_arguments(std::string_view text, LaunchSpec& launch) {
  // They become part of a name for the compiler.
  constexpr std::string_view kMarks = " \t_:<>(),.&*+-/%[]";
  for (char c : text) {
    bool fit = is_name_character(c) || kMarks.contains(c);
    if (!fit) return because(fmt::format("'{}' is not allowed in template arguments", c));
  }
  for (std::string_view part : split_nested(text, "()<>[]")) {
    if (part.empty()) return because("a template argument is empty");
    launch.template_arguments.emplace_back(part);
  }
  if (launch.template_arguments.size() > kMaxTemplateArguments) {
    return because(fmt::format("there are more than {} template arguments", kMaxTemplateArguments));
  }
  return {};
}

// "ns::kernel"
bool is_kernel_name(std::string_view text) {
  while (true) {
    std::size_t end = text.find("::");
    if (!is_identifier(text.substr(0, end))) return false;
    if (end == npos) return true;
    text.remove_prefix(end + 2);
  }
}

}  // namespace

bool is_name_character(char c) {
  return is_letter(c) || c == '_' || (c >= '0' && c <= '9');
}

bool is_identifier(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::ranges::all_of(text, is_name_character);
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kMax = 80;
  std::string shown;
  std::size_t end = std::min(text.size(), kMax);
  // Not in the middle of a character.
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  for (char c : text.substr(0, end)) {
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  if (end < text.size()) shown += "...";
  return shown;
}

std::vector<std::string_view> split_list(std::string_view text) {
  return split_nested(text, "()[]");
}

std::optional<std::string_view> inside_call(std::string_view text, std::string_view name) {
  text = trim(text);
  if (!text.starts_with(name)) return std::nullopt;
  text = trim(text.substr(name.size()));
  if (!text.starts_with('(') || closing(text, 0, "()[]") != text.size() - 1) return std::nullopt;
  return text.substr(1, text.size() - 2);
}

Understood<Expression> parse_expression(std::string_view text) {
  text = trim(text);
  if (text.empty()) return because("an expression is missing");
  auto parsed = Expression::parse(text);
  if (!parsed) return because(parsed.error().context);
  return std::move(*parsed);
}

Understood<std::vector<Expression>> parse_expressions(std::string_view list) {
  std::vector<Expression> expressions;
  for (std::string_view part : split_list(list)) {
    expressions.push_back(TRY(parse_expression(part)));
  }
  return expressions;
}

Understood<LaunchSpec> parse_launch(std::string_view text) {
  LaunchSpec launch;
  text = trim(text);
  if (text.ends_with(';')) text = trim(text.substr(0, text.size() - 1));
  std::string_view name = trim(text.substr(0, text.find_first_of("<(")));
  if (name.empty()) return because("the name of a kernel is missing");
  if (!is_kernel_name(name)) return because(fmt::format("'{}' is not a name", excerpt(name)));
  launch.kernel = std::string(name);
  text = trim(text.substr(static_cast<std::size_t>(name.data() - text.data()) + name.size()));

  if (text.starts_with('<') && !text.starts_with("<<")) {
    std::size_t end = closing(text, 0, "()<>[]");
    if (end == npos) return because("the template arguments are not closed");
    TRY(parse_template_arguments(text.substr(1, end - 1), launch));
    text = trim(text.substr(end + 1));
  }
  if (!text.starts_with("<<<")) return because("'<<<' is missing");
  text.remove_prefix(3);
  std::size_t end = text.find(">>>");
  if (end == npos) return because("'>>>' is missing");
  TRY(parse_configuration(text.substr(0, end), launch));

  text = trim(text.substr(end + 3));
  auto arguments = inside_call(text, "");
  if (!arguments) return because("'(arguments)' is expected behind '>>>'");
  if (trim(*arguments).empty()) return launch;
  for (std::string_view part : split_list(*arguments)) {
    if (launch.arguments.size() == kMaxArguments) {
      return because(fmt::format("there are more than {} arguments", kMaxArguments));
    }
    launch.arguments.push_back(TRY(parse_argument(part)));
  }
  return launch;
}

}  // namespace specgen
