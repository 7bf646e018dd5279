#include "runtime/listen_error.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace specgen {

std::unexpected<Error> fail_to_listen(std::string_view address, int error_number) {
  std::string advice;
  if (error_number == EADDRINUSE) {
    advice = "another program listens there: stop it, choose another port, or 0 for a free one";
  } else if (error_number == EADDRNOTAVAIL) {
    advice = "this host does not have that address: use 127.0.0.1, or 0.0.0.0 for all addresses";
  } else if (error_number == EACCES || error_number == EPERM) {
    advice = "permission denied: choose a port above 1023, or a folder that you may write to";
  }
  return fail(ErrorCode::address_in_use,
              fmt::format("{}: {}", address, std::strerror(error_number)), advice);
}

}  // namespace specgen
