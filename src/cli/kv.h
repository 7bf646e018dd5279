#pragma once
// `specgen kv config` and `specgen kv stats`. The first prints what to write where so that an engine keeps its
// prefixes in a node, and when that pays; the second what a node tells of itself.

#include "base/error.h"
#include "cli/kv_command.h"

namespace specgen {

Result<ExitCode> configure_kv(const ConfigureKv& command);
Result<ExitCode> show_kv_stats(const ShowKvStats& command);

// The password in a file, without the newline behind it; empty if no file is named.
Result<std::string> kv_password(const std::string& file);

}  // namespace specgen
