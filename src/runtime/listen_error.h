#pragma once
// The error of every server when it cannot listen on an address, with advice.

#include <string_view>

#include "base/error.h"

namespace specgen {

// `error_number` is errno of bind() or listen(); `address` is as the user wrote it.
std::unexpected<Error> fail_to_listen(std::string_view address, int error_number);

}  // namespace specgen
