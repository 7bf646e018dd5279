#include "evaluate/host/dynamic_library.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

#include "base/assert.h"

namespace specgen {
namespace fs = std::filesystem;

Result<DynamicLibrary> DynamicLibrary::open(std::span<const std::string> candidates) {
  SG_ASSERT(!candidates.empty(), "a library has at least one name");
  std::string trouble;
  for (const std::string& candidate : candidates) {
    std::error_code ignored;
    bool is_path = candidate.find('/') != std::string::npos;
    if (is_path && !fs::exists(candidate, ignored)) continue;
    if (void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return DynamicLibrary(handle);
    }
    std::string reason = ::dlerror();
    // The loader names what it did not find: the library itself, or one that it needs.
    bool absent = reason.starts_with(candidate + ": cannot open shared object file");
    if (trouble.empty() && !absent) trouble = std::move(reason);
  }
  if (!trouble.empty()) return fail(ErrorCode::system_call, std::move(trouble));
  return fail(ErrorCode::tool_missing, candidates.front());
}

void* DynamicLibrary::address(const char* name) const {
  return ::dlsym(handle_, name);
}

fs::path DynamicLibrary::path() const {
  link_map* map = nullptr;
  if (::dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || !map) return {};
  return map->l_name;
}

}  // namespace specgen
