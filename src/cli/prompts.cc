#include "cli/prompts.h"

#include <filesystem>
#include <vector>

#include "cli/settings.h"
#include "cli/tasks.h"

namespace specgen {

namespace fs = std::filesystem;

Result<PromptBook> load_prompts() {
  fs::path shipped = shipped_folder("prompts");
  if (shipped.empty()) {
    return fail(
        ErrorCode::file_not_found, "prompts",
        "they lie beside the program: unpack the whole archive, or build in the source tree");
  }
  std::vector<fs::path> folders{"prompts"};
  if (fs::path config = config_folder(); !config.empty()) folders.push_back(config / "prompts");
  folders.push_back(shipped);
  return PromptBook::load(folders);
}

}  // namespace specgen
