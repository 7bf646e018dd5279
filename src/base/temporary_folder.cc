#include "base/temporary_folder.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/environment.h"

namespace specgen {
namespace fs = std::filesystem;

Result<TemporaryFolder> TemporaryFolder::make() {
  fs::path parent = environment_variable("TMPDIR").value_or("");
  if (parent.empty()) parent = "/tmp";
  std::string name = (parent / "specgen-XXXXXX").string();
  if (!::mkdtemp(name.data())) {
    return fail(ErrorCode::system_call,
                fmt::format("{}: {}", parent.string(), std::strerror(errno)),
                "set TMPDIR to a folder that can be written to");
  }
  return TemporaryFolder(name);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what cannot be removed is left to the system's cleaning of /tmp
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace specgen
