#include "evaluate/host/tool_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/environment.h"
#include "base/text.h"

namespace specgen {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "12.2.0" at the front of the text; empty if there is no digit.
std::string_view leading_number(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || (end > 0 && text[end] == '.'))) ++end;
  while (end > 0 && text[end - 1] == '.') --end;
  return text.substr(0, end);
}

// Distributions put their own name and version in brackets.
std::string without_brackets(std::string_view text) {
  std::string kept;
  int depth = 0;
  for (char c : text) {
    if (c == '(') ++depth;
    if (depth == 0) kept += c;
    if (c == ')' && depth > 0) --depth;
  }
  return kept;
}

std::string_view first_output_line(const Finished& finished) {
  std::string_view line = trim(finished.error_output);
  if (line.empty()) line = trim(finished.output);
  return trim(first_line(line));
}

std::vector<std::string> in_english(std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& entry) {
    return entry.starts_with("LC_") || entry.starts_with("LANGUAGE=");
  });
  environment.emplace_back("LC_ALL=C");
  return environment;
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxBytes = 240;
  std::string kept;
  while (!text.empty() && kept.size() < kMaxBytes) {
    std::size_t size = character_length(text);
    auto first = static_cast<unsigned char>(text.front());
    if (size == 0) {
      kept += '?';
    } else if (size == 1 && (first < ' ' || first == 0x7f)) {
      kept += ' ';
    } else {
      kept += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  if (!text.empty()) kept += "...";
  return kept;
}

Task<ToolRun> run_tool(Processes& processes, Command command) {
  Duration limit = command.time_limit;
  command.environment =
      in_english(command.environment ? *command.environment : whole_environment());
  auto finished = co_await processes.run(std::move(command));
  ToolRun run;
  if (finished) {
    run.ok = finished->exit.ok();
    if (!run.ok) {
      std::string_view line = first_output_line(*finished);
      run.problem = line.empty() ? to_string(finished->exit)
                                 : fmt::format("{} ({})", line, to_string(finished->exit));
    }
    run.output = std::move(finished->output);
  } else if (finished.error().code == ErrorCode::timeout) {
    run.problem = fmt::format("no answer within {}", format_duration(limit));
  } else {
    run.problem =
        fmt::format("{}: {}", kind_of(finished.error().code).message, finished.error().context);
  }
  run.problem = printable(run.problem);
  co_return run;
}

std::string number_after(std::string_view text, std::string_view mark) {
  std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  return std::string(leading_number(text.substr(at + mark.size())));
}

std::string compiler_version(std::string_view output) {
  std::string_view line = first_line(output);
  if (std::string version = number_after(line, "clang version "); !version.empty()) return version;
  std::string plain = without_brackets(line);
  for (std::string_view word : split(plain, ' ')) {
    std::string_view number = leading_number(word);
    if (number.find('.') != std::string_view::npos) return std::string(number);
  }
  return {};
}

std::string nvcc_version(std::string_view output) {
  return number_after(output, ", V");
}

std::string nsight_version(std::string_view output) {
  return number_after(output, "Version ");
}

}  // namespace specgen
