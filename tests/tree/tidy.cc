#include "tree/tidy.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace specgen::tidy {
namespace {

constexpr std::size_t kMaxLines = 600;
constexpr std::size_t kMaxColumns = 120;
constexpr auto npos = std::string_view::npos;

// The order of the design, lowest first. Folders of one level may not include each other.
constexpr std::string_view kOrder =
    "base | runtime | journal generate evaluate | kvcache | schedule | speculate | search | "
    "simulate report | compare | cli";

// What stands behind a door: these words in code, only in files whose path begins like a `home`.
struct Seam {
  std::string_view what;
  std::string_view instead;
  std::vector<std::string_view> words;
  std::vector<std::string_view> home;
  bool tests_too;  // chance makes tests flaky; the other three are what a test may have to hold
};

const std::vector<Seam> kSeams{
    {"a clock",
     "take the time from the Loop",
     {"system_clock", "steady_clock", "high_resolution_clock", "clock_gettime", "gettimeofday",
      "std::time(", "time(nullptr)", "time(NULL)", "time(0)"},
     {"src/runtime/"},
     false},
    {"chance",
     "use Random",
     {"<random>", "random_device", "mt19937", "mt19937_64", "default_random_engine", "rand(",
      "srand(", "getrandom", "getentropy", "std::*_distribution"},
     {"src/runtime/", "src/base/random."},
     true},
    {"a thread",
     "use a WorkerThread of runtime",
     {"<thread>", "std::thread", "std::jthread", "std::async", "pthread_create"},
     {"src/runtime/"},
     false},
    {"the environment",
     "use base/environment.h",
     {"getenv", "secure_getenv", "environ"},
     {"src/base/environment."},
     false}};

// Candidates that misbehave on purpose.
constexpr std::array<std::string_view, 2> kMisbehaving{"tests/hacks/", "tests/poison/"};

// In pieces, so that this file does not find itself.
using Pieces = std::pair<std::string, std::string>;
const std::vector<Pieces> kMarks{{"TO", "DO"}, {"FIX", "ME"}, {"XX", "X"}, {"HA", "CK"}};
const std::vector<Pieces> kMachinePaths{{"/work", "/"}, {"/home", "/"}, {"/root", "/"}};

constexpr std::array<std::string_view, 33> kSystemHeaders{
    "assert",  "ctype",  "dirent",  "dlfcn",  "elf",    "errno",  "fcntl",  "fenv",   "float",
    "fnmatch", "getopt", "glob",    "grp",    "limits", "locale", "math",   "netdb",  "poll",
    "pthread", "pwd",    "sched",   "signal", "spawn",  "stdarg", "stddef", "stdint", "stdio",
    "stdlib",  "string", "termios", "time",   "unistd", "wchar"};
constexpr std::array<std::string_view, 4> kSystemFolders{"sys/", "linux/", "netinet/", "arpa/"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> lines;
  while (!content.empty()) {
    std::size_t end = content.find('\n');
    lines.push_back(content.substr(0, end));
    content.remove_prefix(end == npos ? content.size() : end + 1);
  }
  return lines;
}

bool holds(std::span<const std::string_view> all, std::string_view one) {
  return std::ranges::find(all, one) != all.end();
}

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return text.starts_with(prefix); });
}

// Where a word stands that is not part of a longer one. A '*' in it stands for the rest of a name.
std::size_t find_word(std::string_view line, std::string_view word) {
  std::string_view begin = word.substr(0, word.find('*'));
  std::string_view ending = begin.size() < word.size() ? word.substr(begin.size() + 1) : "";
  for (std::size_t at = line.find(begin); at != npos; at = line.find(begin, at + 1)) {
    if (at > 0 && is_word(word.front()) && is_word(line[at - 1])) continue;
    std::size_t end = at + begin.size();
    while (end < line.size() && is_word(line[end])) ++end;
    std::string_view more = line.substr(at + begin.size(), end - at - begin.size());
    bool whole = ending.empty() ? more.empty() || !is_word(word.back()) : more.ends_with(ending);
    if (whole) return at;
  }
  return npos;
}

bool has_word(std::string_view line, std::string_view word) {
  return find_word(line, word) != npos;
}

// The run of word characters (and of those in `also`) that ends just before this place.
std::string_view word_before(std::string_view text, std::size_t at, std::string_view also = {}) {
  std::size_t start = at;
  while (start > 0 && (is_word(text[start - 1]) || also.contains(text[start - 1]))) --start;
  return text.substr(start, at - start);
}

std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[at]) {
      return i + 1;
    } else if (text[i] == '\n') {
      return i;  // not closed: a stray quote must not swallow the file
    }
  }
  return text.size();
}

// Where the comment or literal that begins here ends; this very place if none does.
std::size_t end_of_hidden(std::string_view text, std::size_t at) {
  auto after = [&](std::string_view what, std::size_t from) {
    std::size_t found = text.find(what, from);
    return found == npos ? text.size() : found + what.size();
  };
  if (text.substr(at).starts_with("/*")) return after("*/", at + 2);
  if (text.substr(at).starts_with("//")) {
    std::size_t end = after("\n", at);
    while (end < text.size() && text.substr(0, end).ends_with("\\\n")) end = after("\n", end);
    return end;
  }
  constexpr std::array<std::string_view, 5> kRaw{"R", "u8R", "uR", "UR", "LR"};
  if (text[at] == '"' && holds(kRaw, word_before(text, at))) {
    std::size_t open = text.find('(', at);
    if (open == npos) return text.size();
    return after(")" + std::string(text.substr(at + 1, open - at - 1)) + "\"", open);
  }
  if (text[at] == '"') return end_of_quoted(text, at);
  if (text[at] != '\'') return at;
  std::string_view number = word_before(text, at, "'");
  bool separates_digits = !number.empty() && number[0] >= '0' && number[0] <= '9';
  return separates_digits ? at : end_of_quoted(text, at);
}

std::optional<std::ptrdiff_t> level_of(std::string_view folder) {
  std::size_t at = folder.empty() ? npos : find_word(kOrder, folder);
  if (at == npos) return std::nullopt;
  return std::ranges::count(kOrder.substr(0, at), '|');
}

// What an #include line names, with its quotes or angles; empty for any other line.
std::string_view included(std::string_view code, std::string_view raw) {
  std::string_view rest = trimmed(code);
  if (!rest.starts_with('#')) return {};
  rest = trimmed(rest.substr(1));
  if (!rest.starts_with("include")) return {};
  raw = trimmed(raw.substr(code.find("include") + 7));
  if (raw.empty()) return {};
  std::size_t end = raw.find(raw.front() == '<' ? '>' : '"', 1);
  return raw.substr(0, end == npos ? npos : end + 1);
}

constexpr std::string_view kJsonCodec = "\"base/json_codec.h\"";

// Whether a header of ours may include this: our own, the standard's, the system's.
bool may_be_in_header(std::string_view include) {
  if (include == kJsonCodec) return false;  // it brings Boost with it
  if (include.starts_with('"') || include == "<fmt/core.h>") return true;
  std::string_view name = include.substr(1, include.size() - 2);
  if (starts_with_any(name, kSystemFolders)) return true;
  if (name.ends_with(".h")) return holds(kSystemHeaders, name.substr(0, name.size() - 2));
  return std::ranges::all_of(name, is_word);
}

struct File {
  std::string_view path;
  std::string_view content;
  std::vector<std::string_view> lines;
  std::string code;                          // for C++ only
  std::vector<std::string_view> code_lines;  // of `code`, as many as lines
  std::vector<Finding> findings;

  File(std::string_view p, std::string_view c) : path(p), content(c), lines(lines_of(c)) {
    if (!is_cpp()) return;
    code = code_only(content);
    code_lines = lines_of(code);
  }
  File(const File&) = delete;

  void add(std::size_t index, std::string_view rule, std::string message) {
    findings.emplace_back(std::string(path), static_cast<int>(index) + 1, std::string(rule),
                          std::move(message));
  }

  std::string_view name() const { return path.substr(path.rfind('/') + 1); }
  bool is_header() const { return name().ends_with(".h"); }
  bool is_cpp() const { return is_header() || name().ends_with(".cc"); }
  bool is_under(std::string_view folder) const { return path.starts_with(folder); }
  bool is_ours() const { return is_under("src/") || is_under("tests/") || is_under("bench/"); }
  bool is_source() const {  // written by hand, for a compiler or an interpreter
    constexpr std::array<std::string_view, 7> kEndings{".cmake", ".cu",   ".cuh", ".py",
                                                       ".sh",    ".toml", ".cc"};
    return is_header() || name() == "Makefile" || name() == "CMakeLists.txt" ||
           content.starts_with("#!") ||
           std::ranges::any_of(kEndings, [&](auto end) { return name().ends_with(end); });
  }
};

void check_order(File& file) {
  if (!file.is_under("src/")) return;
  std::string_view inside = file.path.substr(4);
  std::size_t slash = inside.find('/');
  std::string_view folder = inside.substr(0, slash);
  if (slash == npos) {
    if (file.is_cpp()) file.add(0, "order", "a source file belongs to one of the folders of src/");
    return;
  }
  auto level = level_of(folder);
  if (!level) {
    file.add(0, "order", "src/" + std::string(folder) + " has no place in the order of folders");
    return;
  }
  for (std::size_t i = 0; i < file.code_lines.size(); ++i) {
    std::string_view include = included(file.code_lines[i], file.lines[i]);
    if (!include.starts_with('"')) continue;
    std::string_view target = include.substr(1, include.find('/') - 1);
    auto target_level = include.find('/') == npos ? std::nullopt : level_of(target);
    if (!target_level) {
      file.add(i, "order", std::string(include) + " names no folder of src/; write \"folder/x.h\"");
    } else if (target != folder && *target_level >= *level) {
      file.add(i, "order",
               in_quotes(target) +
                   (*target_level == *level ? " stands beside " : " stands above ") +
                   in_quotes(folder) + ": a folder includes itself and what is below it");
    }
  }
}

void check_seams(File& file) {
  if (!file.is_ours() || starts_with_any(file.path, kMisbehaving)) return;
  for (const Seam& seam : kSeams) {
    if (starts_with_any(file.path, seam.home)) continue;
    if (!seam.tests_too && !file.is_under("src/")) continue;
    for (std::size_t i = 0; i < file.code_lines.size(); ++i) {
      auto word =
          std::ranges::find_if(seam.words, [&](auto w) { return has_word(file.code_lines[i], w); });
      if (word == seam.words.end()) continue;
      file.add(
          i, "seams",
          in_quotes(*word) + " is " + std::string(seam.what) + "; " + std::string(seam.instead));
    }
  }
}

void check_size(File& file) {
  if (file.is_source() && file.lines.size() > kMaxLines) {
    file.add(kMaxLines, "size",
             std::to_string(file.lines.size()) + " lines: split the file by idea before " +
                 std::to_string(kMaxLines));
  }
  if (!file.is_cpp()) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    auto columns = std::ranges::count_if(file.lines[i], [](char c) { return (c & 0xc0) != 0x80; });
    if (static_cast<std::size_t>(columns) <= kMaxColumns) continue;
    file.add(i, "size", "a line of " + std::to_string(columns) + " characters; run clang-format");
  }
}

void check_space(File& file) {
  if (!file.is_source()) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::string_view line = file.lines[i];
    if (!line.empty() && is_blank(line.back())) {
      file.add(i, "space", "white space at the end of the line");
    } else if (file.is_cpp() && line.find('\t') != npos) {
      file.add(i, "space", "a tab; use spaces, and \\t in literals");
    }
  }
  if (!file.content.empty() && file.content.back() != '\n') {
    file.add(file.lines.size() - 1, "space", "no newline at the end of the file");
  }
}

void check_header(File& file) {
  if (!file.is_header() || !file.is_ours()) return;
  if (file.lines.empty() || file.lines[0] != "#pragma once") {
    file.add(0, "header", "a header begins with #pragma once");
  } else if (file.lines.size() < 2 || !file.lines[1].starts_with("//")) {
    file.add(1, "header", "after #pragma once a header says in a comment what it is");
  }
  for (std::size_t i = 0; i < file.code_lines.size(); ++i) {
    if (has_word(file.code_lines[i], "using namespace")) {
      file.add(i, "header", "'using namespace' in a header reaches everyone who includes it");
    }
    std::string_view include = included(file.code_lines[i], file.lines[i]);
    const bool is_codec = file.path == "src/base/json_codec.h" && include.starts_with("<boost/");
    if (file.is_under("src/") && !include.empty() && !is_codec && !may_be_in_header(include)) {
      file.add(i, "header", std::string(include) + " belongs to a library: include it in a .cc");
    }
  }
}

// So that compiling x.cc shows that x.h needs nothing before it: cmake/module.cmake relies on it.
void check_own_header_first(File& file) {
  if (!file.is_under("src/") || file.is_header() || !file.is_cpp()) return;
  std::string own = "\"" + std::string(file.path.substr(4));
  own.replace(own.size() - 2, 2, "h\"");
  bool is_first = true;
  for (std::size_t i = 0; i < file.code_lines.size(); ++i) {
    std::string_view include = included(file.code_lines[i], file.lines[i]);
    if (include.empty()) continue;
    if (include == own && !is_first) file.add(i, "header", "include " + own + " first");
    is_first = false;
  }
}

void check_name(File& file) {
  if (!file.is_cpp() || !(file.is_under("src/") || file.is_under("tests/"))) return;
  std::string_view stem = file.name().substr(0, file.name().rfind('.'));
  bool snake =
      !stem.empty() && stem[0] >= 'a' && stem[0] <= 'z' &&
      std::ranges::all_of(stem, [](char c) { return is_word(c) && !(c >= 'A' && c <= 'Z'); });
  if (!snake) file.add(0, "name", in_quotes(file.name()) + " is not snake_case");
}

void check_words(File& file) {
  // A path begins where nothing that belongs to a path or an address stands before it.
  auto continues_a_path = [](char c) {
    return is_word(c) || std::string_view(".~-})>*").contains(c);
  };
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::string_view line = file.lines[i];
    for (const auto& [begin, end] : kMarks) {
      std::string mark = begin + end;
      if (has_word(line, mark)) {
        file.add(i, "unfinished",
                 in_quotes(mark) + ": finish it, or say plainly what does not work");
      }
    }
    for (const auto& [begin, end] : kMachinePaths) {
      std::string path = begin + end;
      for (std::size_t at = line.find(path); at != npos; at = line.find(path, at + 1)) {
        if (at > 0 && continues_a_path(line[at - 1])) continue;
        file.add(i, "machine", in_quotes(path) + " is a path of one machine");
        break;
      }
    }
  }
}

}  // namespace

std::vector<Finding> check_file(std::string_view path, std::string_view content) {
  if (content.contains('\0')) return {};
  File file(path, content);
  for (auto check : {check_order, check_seams, check_size, check_space, check_header,
                     check_own_header_first, check_name, check_words}) {
    check(file);
  }
  std::ranges::sort(file.findings, {},
                    [](const Finding& f) { return std::tie(f.line, f.message); });
  return std::move(file.findings);
}

std::string code_only(std::string_view content) {
  std::string code(content);
  for (std::size_t at = 0; at < content.size();) {
    std::size_t end = end_of_hidden(content, at);
    for (std::size_t i = at; i < end; ++i) code[i] = content[i] == '\n' ? '\n' : ' ';
    at = std::max(end, at + 1);
  }
  return code;
}

bool is_ignored(const std::string& path, bool is_folder, std::string_view gitignore) {
  std::vector<std::string_view> patterns = lines_of(gitignore);
  patterns.insert(patterns.end(), {"/.git", "/build/"});
  for (std::string_view pattern : patterns) {
    pattern = trimmed(pattern);
    if (pattern.empty() || pattern.starts_with('#')) continue;
    if (pattern.ends_with('/')) {
      if (!is_folder) continue;
      pattern.remove_suffix(1);
    }
    std::string subject = pattern.contains('/') ? path : path.substr(path.rfind('/') + 1);
    if (pattern.starts_with('/')) pattern.remove_prefix(1);
    if (::fnmatch(std::string(pattern).c_str(), subject.c_str(), FNM_PATHNAME) == 0) return true;
  }
  return false;
}

}  // namespace specgen::tidy
