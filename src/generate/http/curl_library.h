#pragma once
// Loads libcurl when the first client is opened, not at program start: the program also runs as judge and executor in a
// sandbox, where curl's thirty dependencies would cost time and memory, and where those of an unpacked archive are not
// mounted. Once loaded, the functions of <curl/curl.h> work as usual.

#include "base/error.h"

namespace specgen {

// The one of an unpacked archive if there is one, else the system's. Later calls cost nothing.
Result<void> load_curl();

}  // namespace specgen
