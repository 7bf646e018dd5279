#include "base/environment.h"

#include <unistd.h>

#include <cstdlib>

namespace specgen {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> whole_environment() {
  std::vector<std::string> all;
  for (char** entry = ::environ; entry && *entry; ++entry) all.emplace_back(*entry);
  return all;
}

}  // namespace specgen
