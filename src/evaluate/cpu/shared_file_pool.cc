#include "evaluate/cpu/shared_file_pool.h"

#include <poll.h>

#include <algorithm>

namespace specgen {
namespace {

constexpr std::size_t kMaxExcess = 4;                   // times the requested size
constexpr std::size_t kSmall = std::size_t{64} * 1024;  // below this any size will do
constexpr std::size_t kMaxFiles = 1024;
constexpr std::byte kOverwritten{0xff};

bool has_ended(int pidfd) {
  pollfd poll{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) > 0 && (poll.revents & POLLIN) != 0;
}

bool fits(std::size_t size, std::size_t bytes) {
  return size >= bytes && size <= std::max(kMaxExcess * bytes, kSmall);
}

}  // namespace

Result<SharedFile> SharedFilePool::take(std::size_t bytes, Access access) {
  auto is_suitable = [&](const Kept& one) {
    return one.access == access && fits(one.file.bytes().size(), bytes);
  };
  const std::size_t begin = kept_.empty() ? 0 : random_.below(kept_.size());
  for (std::size_t i = 0; i < kept_.size() && bytes > 0; ++i) {
    auto one = kept_.begin() + static_cast<std::ptrdiff_t>((begin + i) % kept_.size());
    if (!is_suitable(*one)) continue;
    std::erase_if(one->users, [](const auto& user) { return has_ended(user->get()); });
    if (!one->users.empty()) continue;
    SharedFile file = std::move(one->file);
    kept_.erase(one);
    bytes_kept_.count -= file.bytes().size();
    if (access == Access::writing) std::ranges::fill(file.bytes(), kOverwritten);
    return file;
  }
  return make(bytes, access);
}

void SharedFilePool::give_back(SharedFile file, Access access, const Users& users) {
  if (file.bytes().empty()) return;
  bytes_kept_.count += file.bytes().size();
  kept_.push_back({std::move(file), access, users});
  while (bytes_kept_.count > max_kept_.count || kept_.size() > kMaxFiles) {
    bytes_kept_.count -= kept_.front().file.bytes().size();
    kept_.erase(kept_.begin());
  }
}

}  // namespace specgen
