#pragma once
// `specgen tasks [DIR]` lists tasks and runs nothing; `--check` shows every task's checker what cheats
// produce (evaluate/judge/admission.h). `specgen new NAME` writes a task to start from.

#include <filesystem>
#include <string>

#include "base/error.h"
#include "cli/command_line.h"
#include "cli/settings.h"

namespace specgen {

Result<ExitCode> list_or_check_tasks(const ListTasks& command, const Settings& settings);
Result<ExitCode> write_new_task(const NewTask& command);

// Where a kind of shipped files lies: beside the source tree's binary, or in share/specgen of an
// unpacked archive. Empty if it is nowhere.
std::filesystem::path shipped_folder(std::string_view name);

}  // namespace specgen
