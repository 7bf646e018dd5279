#include "cli/shipped_files.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/file.h"
#include "base/text.h"
#include "cli/settings.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

// Names of the entries that satisfy `is_one`, sorted.
std::vector<std::string> names_in(const fs::path& folder, bool (*is_one)(const fs::path&)) {
  std::vector<std::string> names;
  std::error_code trouble;
  for (fs::directory_iterator entry(folder, trouble), end; !trouble && entry != end;
       entry.increment(trouble)) {
    if (is_one(entry->path())) names.push_back(entry->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_task(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".py" ? fs::is_regular_file(path, ignored)
                                   : fs::exists(path / "task.toml", ignored);
}

}  // namespace

fs::path shipped_folder(std::string_view kind) {
  fs::path program = program_folder();
  // An archive (bin/ beside share/), a build folder (build/PRESET/bin), the working folder.
  for (const fs::path& place : {program / ".." / "share" / "specgen" / kind,
                                program / ".." / ".." / ".." / kind, fs::path(kind)}) {
    std::error_code trouble;
    if (fs::is_directory(place, trouble)) return fs::weakly_canonical(place, trouble);
  }
  return {};
}

Result<std::string> find_task(std::string_view name) {
  // "softmax:f16": a colon after the last slash separates the dtype.
  std::size_t slash = name.rfind('/');
  std::size_t colon = name.find(':', slash == name.npos ? 0 : slash);
  const std::string path(name.substr(0, colon));
  const std::string dtype(name.substr(path.size()));
  if (is_task(path)) return path + dtype;

  fs::path shipped = shipped_folder("tasks");
  std::string_view short_name = path;
  constexpr std::string_view kTasks = "tasks/";
  if (short_name.starts_with(kTasks)) short_name.remove_prefix(kTasks.size());
  while (short_name.ends_with('/')) short_name.remove_suffix(1);
  bool is_name = !short_name.empty() && !short_name.contains('/');
  if (is_name && is_task(shipped / short_name)) return (shipped / short_name).string() + dtype;
  // The task's loader says best what is wrong with a folder that is there.
  std::error_code ignored;
  if (fs::exists(std::string(name), ignored) || fs::exists(path, ignored)) return std::string(name);
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no task '{}'{}", name,
                          did_you_mean(short_name, names_in(shipped, is_task))),
              "name a task folder, a .py file, or a task that ships; `specgen tasks` lists those");
}

Result<fs::path> find_scenario(const std::string& name) {
  std::error_code trouble;
  if (fs::exists(name, trouble) || name.contains('/')) return fs::path(name);
  fs::path folder = shipped_folder("scenarios");
  for (const std::string& file : {name, name + ".toml"}) {
    if (!folder.empty() && fs::exists(folder / file, trouble)) return folder / file;
  }
  std::vector<std::string> names =
      names_in(folder, [](const fs::path& path) { return path.extension() == ".toml"; });
  return fail(ErrorCode::unknown_name,
              fmt::format("there is no scenario '{}'{}", name, did_you_mean(name, names)),
              "name a file, or one that ships: " + join(names, ", "));
}

Result<PromptStore> load_prompts() {
  fs::path shipped = shipped_folder("prompts");
  if (shipped.empty()) {
    return fail(ErrorCode::file_not_found, "prompts",
                "they are installed with the program: unpack the whole archive, or run the program "
                "of a source tree in its build folder");
  }
  std::vector<fs::path> folders{"prompts"};
  if (fs::path config = config_folder(); !config.empty()) folders.push_back(config / "prompts");
  folders.push_back(shipped);
  return PromptStore::load(folders);
}

std::vector<fs::path> trigger_folders() {
  std::vector<fs::path> folders{"triggers"};
  if (fs::path shipped = shipped_folder("triggers"); !shipped.empty()) folders.push_back(shipped);
  return folders;
}

}  // namespace specgen
