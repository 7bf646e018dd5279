#pragma once
// `specgen record`: a proxy that writes what passes into a cassette. Ctrl-C is how it ends: what is open is
// recorded as cancelled, and the file is whole on the disk before the process goes.

#include "base/error.h"
#include "cli/command_line.h"

namespace specgen {

Result<ExitCode> record_cassette(const RecordCassette& command);

// "http://127.0.0.1:8080" of "127.0.0.1:0" and the port that it got.
std::string shown_address(std::string_view listen, int port);

}  // namespace specgen
