#include "tree/retired_words.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

namespace specgen::tidy {
namespace {

struct Retired {
  std::string_view pattern;  // of RE2; "~" before and after: not part of a longer word
  std::string_view instead;
};

// Snake_case parts count as words: "~" is the border of a run of letters.
constexpr std::array kRetired{
    Retired{"~(?i:mend|mends|mended|mending|mender)~", "repair, or fix"},
    Retired{"~(cli|search|run|kv|compare|optimize|probe|simulate|eval|node|resp|curl)_words~|"
            "[a-z]{3}Words\\b",
            "options, message or output"},
    Retired{"~(?i:tell|tells|told|telling)~", "report, print, notify or record"},
    Retired{"~(?i:nobody|somebody|whoever)~", "the name of the component"},
    Retired{"~(?i:thought|thoughts)~", "reasoning"},
    Retired{"~(?i:thinking)~", "reasoning"},
    Retired{"~(?i:begun[ _]again|anew)~", "restarted, again"},
    Retired{"~(?i:given[ _]up)~", "abandoned"},
    Retired{"~(?i:overtaken)~", "superseded"},
    Retired{"~(?i:good[ _]enough)~", "meets the stopping criterion"},
    Retired{"~(?i:made[- _]up)~|MadeUp", "fake (tests), synthetic (data)"},
    Retired{"~(?i:surroundings|workplace|workbench)~", "context, environment"},
    Retired{"~(?i:shelf|shelves)~|[a-z]Shelf", "pool, free list"},
    Retired{"~(?i:clerk)~", "worker thread"},
    Retired{"~(?i:lend|lends|lent|lending|lender)~|[a-z]Lender", "provide, share"},
    Retired{"~(?i:lane|lanes)~|[a-z]Lane\\b", "compile slot, transport, worker or row"},
    Retired{"~(?i:room|rooms)~", "module, or capacity"},
    Retired{"~(?i:world|worlds)~|[a-z]World", "simulation, runtime or fixture"},
    Retired{"~(?i:wish|wishes)~|[a-z]Wish", "request, options"},
    Retired{"~(?i:news)~|[a-z]News", "result"},
    Retired{"~(?i:cage|boxing)~|~Box[A-Z]|[a-z]Box\\b", "sandbox"},
    Retired{"~(?i:goes[ _]on)~|~(?i:came of)~", "continues; result"},
    Retired{"~(?i:hand(s|ed)? in)~", "submit"},
    Retired{"~(?i:fell silent|last[ _]words)~", "sent no data; exit status and end of stderr"},
    Retired{"~(?i:stands in|lives in)~", "appears in, is stored in"},
    Retired{"\\bk(Most|Longest|Least)[A-Z]|\\b(most|longest|least)_[a-z]", "max, min"},
    Retired{"~(whole_at|wholes|own_fault)~", "int_at, integers, candidate_fault"},
    Retired{"\\b(Flight|FlightPtr|Interest|TaskLab|Lab|PromptBook|Telling)\\b",
            "the name in the glossary"},
};

// Names of other people's protocols, models and libraries.
constexpr std::string_view kForeign[] = {
    "enable_thinking", "\"thinking\"",   "<thinking", "</thinking",           "-thinking",
    "-Thinking-",      "`thinking`",     "{type: ",   "thinking_budget",      "thinking_type",
    ", thinking}",     "CURLOPT_NOBODY", "viewBox",   "const Json* thinking", "(thinking &&",
    "*thinking",       "world_size",     "thinking: "};

// Names in our own protocols, metrics and in files of users: they are still written or read.
constexpr std::string_view kPublic[] = {"thinking_off_quoted",
                                        "most_in_flight",
                                        "most_per_iteration",
                                        "least_new_bytes",
                                        "least_weight",
                                        "longest_wait",
                                        "most_waiting",
                                        "most_mended",
                                        "most_time",
                                        "most_threads",
                                        "lanes_per_host",
                                        "thinking_tokens",
                                        "thinking_sigma",
                                        "\"overtaken\"",
                                        "\"given_up\"",
                                        "\"begun_again\"",
                                        "\"lanes\"",
                                        "\"lends\"",
                                        "\"lend",
                                        "`lend`",
                                        "`lends`",
                                        "`lanes`",
                                        "diff, mend, judge",
                                        "| lend |",
                                        "\"lane\"",
                                        "--kv-lane",
                                        "lent_bytes",
                                        "no_room",
                                        "not_told",
                                        "not told",
                                        "\"mend\"",
                                        "|mend|",
                                        "mend.md",
                                        "fork(\"world\")",
                                        "`mend`",
                                        "mend: such"};

bool is_checked(std::string_view path) {
  constexpr std::string_view kData[] = {
      "src/generate/author/kernels/", "src/generate/author/phrases.txt",
      "prompts/interface_cpu.md",  // lanes of SIMD registers

      "src/simulate/reasoning.txt",   "tests/traces/",
      "tests/tree/tidy_test.cc",      "tests/pytorch/",
      "tests/tree/retired_words"};
  constexpr std::string_view kEndings[] = {".cc",  ".h",  ".c",    ".py",  ".js",    ".html",
                                           ".css", ".md", ".toml", ".txt", ".cmake", ".cu"};
  auto begins = [&](std::string_view prefix) { return path.starts_with(prefix); };
  auto ends = [&](std::string_view ending) { return path.ends_with(ending); };
  if (std::ranges::any_of(kData, begins)) return false;
  return std::ranges::any_of(kEndings, ends) || path.starts_with("scripts/") || path == "Makefile";
}

std::string expanded(std::string_view pattern) {
  std::string regex;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '~') {
      regex += pattern[i];
    } else if (i + 1 == pattern.size() || pattern[i + 1] == '|') {
      regex += "(?:[^A-Za-z]|$)";
    } else {
      regex += "(?:^|[^A-Za-z])";
    }
  }
  return regex;
}

const RE2& any_retired() {
  static const auto all = [] {
    std::string regex;
    for (const Retired& retired : kRetired) {
      regex += (regex.empty() ? "(?:" : "|(?:") + expanded(retired.pattern) + ")";
    }
    return std::make_unique<RE2>(regex);
  }();
  return *all;
}

std::string without_fixed_names(std::string_view line) {
  std::string text(line);
  auto blank_out = [&](std::string_view name) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
      text.replace(at, name.size(), "#");
    }
  };
  std::ranges::for_each(kForeign, blank_out);
  std::ranges::for_each(kPublic, blank_out);
  return text;
}

}  // namespace

std::vector<Finding> check_retired_words(std::string_view path, std::string_view content) {
  std::vector<Finding> findings;
  if (!is_checked(path) || content.contains('\0')) return findings;
  int number = 0;
  while (!content.empty()) {
    std::size_t end = content.find('\n');
    std::string_view line = content.substr(0, end);
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    ++number;
    if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), any_retired())) continue;
    if (line.contains("retired name")) continue;
    const std::string text = without_fixed_names(line);
    for (const Retired& retired : kRetired) {
      std::string match;
      if (!RE2::PartialMatch(text, "(" + expanded(retired.pattern) + ")", &match)) continue;
      findings.push_back(
          {.path = std::string(path),
           .line = number,
           .rule = "words",
           .message = "'" + match + "' is retired; use: " + std::string(retired.instead)});
    }
  }
  return findings;
}

}  // namespace specgen::tidy
