#include "cli/scenario_files.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "cli/tasks.h"

namespace specgen {
namespace fs = std::filesystem;

Result<fs::path> scenario_file(const std::string& named) {
  std::error_code trouble;
  if (fs::exists(named, trouble) || named.contains('/')) return fs::path(named);
  fs::path folder = shipped_folder("scenarios");
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, trouble), end; !trouble && entry != end;
       entry.increment(trouble)) {
    if (entry->path().extension() == ".toml") names.push_back(entry->path().stem().string());
  }
  std::ranges::sort(names);
  for (const std::string& name : {named, named + ".toml"}) {
    if (!folder.empty() && fs::exists(folder / name, trouble)) return folder / name;
  }
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no scenario '{}'{}", named, did_you_mean(named, names)),
              "name a file, or one that ships: " + join(names, ", "));
}

}  // namespace specgen
