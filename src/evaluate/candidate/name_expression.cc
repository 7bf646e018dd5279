// The names of kernels for the compiler: "row_max<128, float>".

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "evaluate/candidate/directive_text.h"
#include "evaluate/candidate/launch_plan.h"

namespace specgen {
namespace {

// Tunables are macros in the source but not in a name expression: there they are replaced by their values.
std::string with_values(std::string_view text, const Values& tunables) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) ++end;
    if (end == at) {
      result += text[at++];
      continue;
    }
    std::string_view word = text.substr(at, end - at);
    auto value = tunables.find(word);
    result += value == tunables.end() ? std::string(word) : fmt::format("{}", value->second);
    at = end;
  }
  return result;
}

}  // namespace

Accepted<std::string> name_expression(const LaunchSpec& launch, const Values& tunables) {
  if (launch.template_arguments.empty()) return launch.kernel;
  std::vector<std::string> arguments;
  for (const std::string& text : launch.template_arguments) {
    auto expression = Expression::parse(text);
    bool computable = expression && std::ranges::all_of(expression->names(), [&](auto& name) {
                        return tunables.contains(name);
                      });
    if (!computable) {  // a type or another name of the source
      arguments.push_back(with_values(text, tunables));
      continue;
    }
    auto value = expression->evaluate(tunables);
    if (!value) {
      return reject(launch.line, fmt::format("specgen:launch: {}", value.error().context));
    }
    arguments.push_back(fmt::format("{}", *value));
  }
  return fmt::format("{}<{}>", launch.kernel, join(arguments, ", "));
}

Accepted<std::vector<std::string>> name_expressions(const Directives& directives,
                                                    const Values& tunables) {
  std::vector<std::string> names;
  for (const LaunchSpec& launch : directives.launches) {
    std::string name = TRY(name_expression(launch, tunables));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace specgen
