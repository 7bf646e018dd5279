#pragma once
// The machine itself: cores that we may use, memory, and the disk under the runs folder.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/units.h"

namespace specgen {

struct Machine {
  std::string cpu;  // the model's name
  int cores = 0;    // that this process may run on
  Bytes memory;
  Bytes memory_available;
  std::filesystem::path runs_folder;  // as requested; may not exist yet
  Bytes disk_free;                    // for this user, where the runs folder is or would be
  std::string disk_problem;           // why runs could not be written there; empty if they could
};

Machine look_at_machine(std::filesystem::path runs_folder);

// "MemTotal:       24000 kB" of /proc/meminfo.
Bytes meminfo_entry(std::string_view meminfo, std::string_view key);
// "model name : ..." of /proc/cpuinfo; empty on processors that have none.
std::string cpu_model(std::string_view cpuinfo);
std::string cpu_model();  // of this machine

}  // namespace specgen
