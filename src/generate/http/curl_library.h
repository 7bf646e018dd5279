#pragma once
// libcurl is loaded when the first client is opened, not with the program: the program is also judge and executor in a
// sandbox, where the thirty libraries that come with curl would cost time and memory, and where an unpacked archive's
// own are out of reach. The functions of <curl/curl.h> work as usual once it is loaded.

#include "base/error.h"

namespace specgen {

// Ours if an archive brought one, else the system's. Loading it again costs nothing.
Result<void> load_curl();

}  // namespace specgen
