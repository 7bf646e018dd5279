#include "evaluate/candidate/directives.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "evaluate/candidate/directive_text.h"
#include "evaluate/candidate/source_text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxDirectives = 64;
constexpr std::size_t kMaxLaunches = 16;
constexpr std::size_t kMaxTunables = 8;
constexpr std::size_t kMaxValues = 32;
constexpr std::size_t kMaxDimensions = 8;
constexpr std::size_t kMaxBoxDimensions = 5;

const std::vector<std::string> kDirectives{"tune", "scratch", "zero", "tensormap", "launch"};

// Tunables become macros: these names would break the code around the candidate.
const std::vector<std::string> kReserved{
    "alignas",  "auto",     "bool",     "break",   "case",     "char",   "class",    "const",
    "continue", "default",  "delete",   "do",      "double",   "else",   "enum",     "extern",
    "false",    "float",    "for",      "if",      "inline",   "int",    "long",     "namespace",
    "new",      "operator", "private",  "public",  "return",   "short",  "signed",   "sizeof",
    "static",   "std",      "struct",   "switch",  "template", "this",   "true",     "typedef",
    "typename", "union",    "unsigned", "using",   "void",     "while",  "int64_t",  "int32_t",
    "uint8_t",  "T",        "tid",      "scratch", "nthreads", "asm",    "volatile", "throw",
    "try",      "catch",    "min",      "max",     "ceildiv",  "defined"};

class Parser {
 public:
  Accepted<Directives> parse(std::string_view source);

 private:
  Accepted<void> directive(std::string_view body);
  Accepted<void> tune(std::string_view text);
  Accepted<void> scratch(std::string_view text);
  Accepted<void> zero(std::string_view text);
  Accepted<void> tensormap(std::string_view text);
  Accepted<void> settle_zeros();

  Accepted<void> declare(std::string_view name);
  std::unexpected<Rejection> refuse(std::string_view reason) const {
    return reject(line_, fmt::format("specgen:{}: {}", word_, reason));
  }

  Directives directives_;
  std::vector<std::string> declared_;
  std::vector<ZeroedOutput> zeros_;
  std::size_t count_ = 0;
  std::string word_;
  int line_ = 0;
};

// The text after `//` and `specgen:`; nothing if the line does not begin with them.
std::optional<std::string_view> directive_body(std::string_view line) {
  line = trim(line);
  if (!line.starts_with("//")) return std::nullopt;
  while (line.starts_with('/')) line.remove_prefix(1);
  line = trim(line);
  if (!line.starts_with("specgen:")) return std::nullopt;
  return line.substr(std::string_view("specgen:").size());
}

Accepted<Directives> Parser::parse(std::string_view source) {
  if (source.starts_with("\xEF\xBB\xBF")) source.remove_prefix(3);
  int number = 0;
  while (!source.empty()) {
    auto take_line = [&] {
      std::size_t end = source.find('\n');
      std::string_view line = source.substr(0, end);
      source.remove_prefix(end == std::string_view::npos ? source.size() : end + 1);
      ++number;
      return trim(line);
    };
    auto body = directive_body(take_line());
    if (!body) continue;
    line_ = number;
    std::string joined(*body);
    while (joined.ends_with('\\') && !source.empty()) {
      joined.back() = ' ';
      std::string_view more = take_line();
      if (more.starts_with("//")) more.remove_prefix(2);
      joined += more;
    }
    TRY(directive(joined));
  }
  TRY(settle_zeros());
  return std::move(directives_);
}

Accepted<void> Parser::directive(std::string_view body) {
  body = trim(body);
  std::size_t end = 0;
  while (end < body.size() && is_name_character(body[end])) ++end;
  word_ = std::string(body.substr(0, end));
  std::string_view text = trim(body.substr(end));
  if (++count_ > kMaxDirectives) {
    return reject(line_, fmt::format("there are more than {} specgen: lines", kMaxDirectives));
  }
  if (word_ == "tune") return tune(text);
  if (word_ == "scratch") return scratch(text);
  if (word_ == "zero") return zero(text);
  if (word_ == "tensormap") return tensormap(text);
  if (word_ == "launch") {
    if (directives_.launches.size() == kMaxLaunches) {
      return refuse(fmt::format("there are more than {} launches", kMaxLaunches));
    }
    auto launch = parse_launch(text);
    if (!launch) return refuse(launch.error());
    launch->line = line_;
    directives_.launches.push_back(std::move(*launch));
    return {};
  }
  return reject(line_, fmt::format("specgen:{} is not known{}", excerpt(word_),
                                   did_you_mean(word_, kDirectives)));
}

Accepted<void> Parser::declare(std::string_view name) {
  if (!is_identifier(name)) return refuse(fmt::format("'{}' is not a name", excerpt(name)));
  if (name.size() > 64) return refuse(fmt::format("the name '{}' is too long", excerpt(name)));
  std::string copy(name);
  bool ours = copy.starts_with('_') || copy.starts_with("specgen") || copy.starts_with("SPECGEN") ||
              copy.starts_with("sizeof_") || copy.contains("__");
  if (ours || std::ranges::find(kReserved, copy) != kReserved.end()) {
    return refuse(fmt::format("'{}' is a reserved name: take another", copy));
  }
  if (std::ranges::find(declared_, copy) != declared_.end()) {
    return refuse(fmt::format("'{}' is declared twice", copy));
  }
  declared_.push_back(std::move(copy));
  return {};
}

Accepted<void> Parser::tune(std::string_view text) {
  if (directives_.tunables.size() == kMaxTunables) {
    return refuse(fmt::format("there are more than {} tunables", kMaxTunables));
  }
  std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return refuse("'=' is missing: NAME = 128, 256");
  std::string_view name = trim(text.substr(0, equals));
  TRY(declare(name));
  Tunable tunable{.name = std::string(name), .values = {}, .line = line_};
  for (std::string_view part : split_list(text.substr(equals + 1))) {
    auto value = parse_expression(part);
    if (!value) return refuse(value.error());
    auto number = value->evaluate({});
    if (!number) return refuse(fmt::format("'{}' is not an integer", excerpt(part)));
    if (std::ranges::find(tunable.values, *number) != tunable.values.end()) {
      return refuse(fmt::format("{} has the value {} twice", name, *number));
    }
    if (tunable.values.size() == kMaxValues) {
      return refuse(fmt::format("{} has more than {} values", name, kMaxValues));
    }
    tunable.values.push_back(*number);
  }
  directives_.tunables.push_back(std::move(tunable));
  return {};
}

Accepted<void> Parser::scratch(std::string_view text) {
  ScratchSpec spec;
  spec.line = line_;
  if (text.empty()) return refuse("a size in bytes is expected, or NAME DTYPE[dimensions]");
  std::size_t name_end = 0;
  while (name_end < text.size() && is_name_character(text[name_end])) ++name_end;
  std::string_view rest = trim(text.substr(name_end));
  bool named = name_end > 0 && !rest.empty() && rest.data() != text.data() + name_end &&
               (is_letter(rest[0]) || rest[0] == '_');
  if (!named && text.contains('[')) return refuse("NAME DTYPE[dimensions] is expected");
  if (!named) {
    auto bytes = parse_expression(text);
    if (!bytes) return refuse(bytes.error());
    for (const ScratchSpec& other : directives_.scratch) {
      if (other.name.empty()) return refuse("there is one scratch buffer, and it has its size");
    }
    spec.dtype = Dtype::u8;
    spec.shape.push_back(std::move(*bytes));
    directives_.scratch.push_back(std::move(spec));
    return {};
  }
  spec.name = std::string(text.substr(0, name_end));
  TRY(declare(spec.name));
  std::size_t open = rest.find('[');
  if (open == std::string_view::npos || !rest.ends_with(']')) {
    return refuse(fmt::format("'{}' has no dimensions: {} f32[rows, 4]", spec.name, spec.name));
  }
  std::string_view type = trim(rest.substr(0, open));
  auto dtype = parse_dtype(type);
  if (!dtype) {
    return refuse(fmt::format(
        "'{}' is not a dtype: f64, f32, f16, bf16, i64, i32 or u8 is expected", excerpt(type)));
  }
  spec.dtype = *dtype;
  auto shape = parse_expressions(rest.substr(open + 1, rest.size() - open - 2));
  if (!shape) return refuse(shape.error());
  if (shape->size() > kMaxDimensions) {
    return refuse(fmt::format("'{}' has {} dimensions; the limit is {}", spec.name, shape->size(),
                              kMaxDimensions));
  }
  spec.shape = std::move(*shape);
  directives_.scratch.push_back(std::move(spec));
  return {};
}

Accepted<void> Parser::zero(std::string_view text) {
  for (std::string_view name : split_list(text)) {
    if (!is_identifier(name)) return refuse(fmt::format("'{}' is not a name", excerpt(name)));
    bool twice = std::ranges::any_of(zeros_, [&](auto& other) { return other.name == name; });
    if (twice) return refuse(fmt::format("'{}' appears twice", name));
    zeros_.push_back({std::string(name), line_});
  }
  return {};
}

// At the end, because a buffer may be declared below the line that zeroes it.
Accepted<void> Parser::settle_zeros() {
  for (ZeroedOutput& zero : zeros_) {
    auto found = std::ranges::find(directives_.scratch, zero.name, &ScratchSpec::name);
    if (found != directives_.scratch.end()) {
      found->zeroed = true;
    } else {
      directives_.zeroed_outputs.push_back(std::move(zero));
    }
  }
  return {};
}

Accepted<void> Parser::tensormap(std::string_view text) {
  constexpr std::string_view kForm = "NAME = tiled(tensor, box(64, 64), swizzle 128) is expected";
  std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return refuse(fmt::format("'=' is missing: {}", kForm));
  TensormapSpec spec;
  spec.name = std::string(trim(text.substr(0, equals)));
  spec.line = line_;
  TRY(declare(spec.name));
  auto tiled = inside_call(text.substr(equals + 1), "tiled");
  if (!tiled) return refuse(kForm);
  std::vector<std::string_view> parts = split_list(*tiled);
  if (parts.size() < 2 || parts.size() > 3) return refuse(kForm);
  if (!is_identifier(parts[0]))
    return refuse(fmt::format("'{}' is not a tensor", excerpt(parts[0])));
  spec.tensor = std::string(parts[0]);
  auto box = inside_call(parts[1], "box");
  if (!box) return refuse(fmt::format("'{}' is not box(...)", excerpt(parts[1])));
  auto sizes = parse_expressions(*box);
  if (!sizes) return refuse(sizes.error());
  if (sizes->size() > kMaxBoxDimensions) {
    return refuse(
        fmt::format("box has {} dimensions; the limit is {}", sizes->size(), kMaxBoxDimensions));
  }
  spec.box = std::move(*sizes);
  if (parts.size() == 3) {
    std::string_view swizzle = parts[2];
    bool form = swizzle.starts_with("swizzle");
    if (form) swizzle = trim(swizzle.substr(std::string_view("swizzle").size()));
    for (int bytes : {0, 32, 64, 128}) {
      if (form && swizzle == fmt::format("{}", bytes)) {
        spec.swizzle = bytes;
        directives_.tensormaps.push_back(std::move(spec));
        return {};
      }
    }
    return refuse(fmt::format("'{}' is not swizzle 0, 32, 64 or 128", excerpt(parts[2])));
  }
  directives_.tensormaps.push_back(std::move(spec));
  return {};
}

}  // namespace

Accepted<Directives> parse_directives(std::string_view source) {
  TRY(check_text(source));
  return Parser().parse(source);
}

Accepted<Values> tunable_values(const Directives& directives, const Values& chosen) {
  Values values;
  std::vector<std::string> names;
  for (const Tunable& tunable : directives.tunables) {
    values[tunable.name] = tunable.values.front();
    names.push_back(tunable.name);
  }
  for (const auto& [name, value] : chosen) {
    auto tunable = std::ranges::find(directives.tunables, name, &Tunable::name);
    if (tunable == directives.tunables.end()) {
      return reject(0, fmt::format("'{}' is not a tunable{}", name, did_you_mean(name, names)));
    }
    if (std::ranges::find(tunable->values, value) == tunable->values.end()) {
      return reject(tunable->line, fmt::format("{} has no value {}: it has {}", name, value,
                                               fmt::join(tunable->values, ", ")));
    }
    values[name] = value;
  }
  return values;
}

Accepted<std::string> with_defaults(std::string_view source, const Values& chosen) {
  Directives directives = TRY(parse_directives(source));
  Values values = TRY(tunable_values(directives, chosen));
  std::string text;
  int number = 0;
  while (!source.empty()) {
    auto take_line = [&] {
      std::size_t end = std::min(source.find('\n'), source.size() - 1) + 1;
      std::string_view line = source.substr(0, end);
      source.remove_prefix(end);
      ++number;
      return line;
    };
    std::string_view line = take_line();
    auto tunable = std::ranges::find(directives.tunables, number, &Tunable::line);
    if (tunable == directives.tunables.end() ||
        tunable->values.front() == values.at(tunable->name)) {
      text += line;
      continue;
    }
    text += line.substr(0, line.find('/'));
    text += fmt::format("// specgen:tune {} = {}", tunable->name, values.at(tunable->name));
    for (std::int64_t value : tunable->values) {
      if (value != values.at(tunable->name)) text += fmt::format(", {}", value);
    }
    while (trim(line).ends_with('\\') && !source.empty()) line = take_line();
    if (line.ends_with('\n')) text += '\n';
  }
  return text;
}

}  // namespace specgen
