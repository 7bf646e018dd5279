#include "tree/duplicate_types.h"

#include <re2/re2.h>

#include <algorithm>

namespace specgen::tidy {
namespace {

// A brace that is open: a namespace with its name, an unnamed one, or anything else.
struct Scope {
  enum class Kind : std::uint8_t { named, unnamed, other };
  Kind kind = Kind::other;
  std::string name = {};
};

std::string qualified(const std::vector<Scope>& scopes, const std::string& name) {
  std::string all;
  for (const Scope& scope : scopes) all += scope.name + "::";
  return all + name;
}

// The declaration that ends with the brace at `at`: what follows the last ';', '{' or '}' before it.
std::string_view declaration_before(std::string_view code, std::size_t at) {
  std::size_t start = code.find_last_of(";{}", at == 0 ? 0 : at - 1);
  return code.substr(start == std::string_view::npos ? 0 : start + 1, at - start - 1);
}

}  // namespace

std::vector<std::pair<std::string, int>> types_defined_in(std::string_view content) {
  static const RE2 kNamespace(R"(\bnamespace\s*([A-Za-z_0-9:]*)\s*$)");
  static const RE2 kType(R"(\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:alignas\([^)]*\)\s*)?)"
                         R"(([A-Za-z_][A-Za-z_0-9]*)\s*(?:final\s*)?(?::[^:{}][^{}]*)?$)");
  const std::string code = code_only(content);
  std::vector<std::pair<std::string, int>> types;
  std::vector<Scope> scopes;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code[at] == '}' && !scopes.empty()) scopes.pop_back();
    if (code[at] != '{') continue;
    const std::string before(declaration_before(code, at));
    std::string name;
    bool in_namespaces = std::ranges::all_of(
        scopes, [](const Scope& scope) { return scope.kind == Scope::Kind::named; });
    if (RE2::PartialMatch(before, kNamespace, &name)) {
      scopes.push_back({name.empty() ? Scope::Kind::unnamed : Scope::Kind::named, name});
      continue;
    }
    if (in_namespaces && !scopes.empty() && !before.contains("template") &&
        RE2::PartialMatch(before, kType, &name)) {
      auto line = 1 + std::ranges::count(code.substr(0, at), '\n');
      types.emplace_back(qualified(scopes, name), static_cast<int>(line));
    }
    scopes.push_back({});
  }
  return types;
}

std::vector<Finding> find_duplicate_types(const std::map<std::string, std::string>& files) {
  std::map<std::string, std::string> first;  // type to the path that defines it
  std::vector<Finding> findings;
  for (const auto& [path, content] : files) {
    for (const auto& [type, line] : types_defined_in(content)) {
      auto [known, is_new] = first.try_emplace(type, path);
      if (is_new) continue;
      findings.push_back({.path = path,
                          .line = line,
                          .rule = "odr",
                          .message = type + " is also defined in " + known->second +
                                     ": rename one, or put it into an unnamed namespace"});
    }
  }
  return findings;
}

}  // namespace specgen::tidy
