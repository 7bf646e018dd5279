#pragma once
// Why a candidate is refused before any of it runs: the verdict `rejected`.

#include <expected>
#include <string>
#include <utility>

#include "base/error.h"

namespace specgen {

struct Rejection {
  int line = 0;  // 0: the file as a whole
  std::string reason;
};
template <class T>
using Accepted = std::expected<T, Rejection>;

inline std::unexpected<Rejection> reject(int line, std::string reason) {
  return std::unexpected(Rejection{line, std::move(reason)});
}

}  // namespace specgen
