#include "evaluate/cpu/shared_file_pool.h"

#include <poll.h>

#include <algorithm>

namespace specgen {
namespace {

constexpr std::size_t kLoosest = 4;                     // times what is asked for
constexpr std::size_t kSmall = std::size_t{64} * 1024;  // so small that any will do
constexpr std::size_t kMaxFiles = 1024;
constexpr std::byte kNothing{0xff};

bool is_gone(int pidfd) {
  pollfd look{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & POLLIN) != 0;
}

bool fits(std::size_t size, std::size_t bytes) {
  return size >= bytes && size <= std::max(kLoosest * bytes, kSmall);
}

}  // namespace

Result<SharedFile> SharedFilePool::take(std::size_t bytes, Access access) {
  auto would_do = [&](const Kept& one) {
    return one.access == access && fits(one.file.bytes().size(), bytes);
  };
  const std::size_t begin = kept_.empty() ? 0 : chance_.below(kept_.size());
  for (std::size_t i = 0; i < kept_.size() && bytes > 0; ++i) {
    auto one = kept_.begin() + static_cast<std::ptrdiff_t>((begin + i) % kept_.size());
    if (!would_do(*one)) continue;
    std::erase_if(one->users, [](const auto& user) { return is_gone(user->get()); });
    if (!one->users.empty()) continue;
    SharedFile file = std::move(one->file);
    kept_.erase(one);
    held_.count -= file.bytes().size();
    if (access == Access::writing) std::ranges::fill(file.bytes(), kNothing);
    return file;
  }
  return make(bytes, access);
}

void SharedFilePool::give_back(SharedFile file, Access access, const Users& users) {
  if (file.bytes().empty()) return;
  held_.count += file.bytes().size();
  kept_.push_back({std::move(file), access, users});
  while (held_.count > most_.count || kept_.size() > kMaxFiles) {
    held_.count -= kept_.front().file.bytes().size();
    kept_.erase(kept_.begin());
  }
}

}  // namespace specgen
