#pragma once
// Why a socket cannot be listened on, and what to do about it: for every server of ours.

#include <string_view>

#include "base/error.h"

namespace specgen {

// `error_number` is what bind() or listen() left behind for `address`, as the user wrote it.
std::unexpected<Error> fail_to_listen(std::string_view address, int error_number);

}  // namespace specgen
