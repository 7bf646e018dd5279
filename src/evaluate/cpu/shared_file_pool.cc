#include "evaluate/cpu/shared_file_pool.h"

#include <poll.h>

#include <algorithm>

namespace specgen {
namespace {

constexpr std::size_t kLoosest = 4;                     // times what is asked for
constexpr std::size_t kSmall = std::size_t{64} * 1024;  // so small that any will do

bool is_gone(int pidfd) {
  pollfd look{.fd = pidfd, .events = POLLIN, .revents = 0};
  return ::poll(&look, 1, 0) > 0 && (look.revents & POLLIN) != 0;
}

bool fits(std::size_t size, std::size_t bytes) {
  return size >= bytes && size <= std::max(kLoosest * bytes, kSmall);
}

}  // namespace

Result<SharedFile> SharedFilePool::take(std::size_t bytes, Access access) {
  std::vector<Kept>& all = kept(access);
  const std::size_t begin = all.empty() ? 0 : chance_.below(all.size());
  for (std::size_t i = 0; i < all.size() && bytes > 0; ++i) {
    auto one = all.begin() + static_cast<std::ptrdiff_t>((begin + i) % all.size());
    if (!fits(one->file.bytes().size(), bytes)) continue;
    std::erase_if(one->users, [](const auto& user) { return is_gone(user->get()); });
    if (!one->users.empty()) continue;
    SharedFile file = std::move(one->file);
    all.erase(one);
    held_.count -= file.bytes().size();
    return file;
  }
  SharedFile file = TRY(SharedFile::make("tensors", bytes, SharedFile::Pages::at_once));
  if (access == Access::reading) TRY(file.seal());
  return file;
}

void SharedFilePool::give_back(SharedFile file, Access access, const Users& users) {
  if (file.bytes().empty() || file.bytes().size() > most_.count) return;
  held_.count += file.bytes().size();
  kept(access).push_back({std::move(file), users});
  while (held_.count > most_.count) {
    drop_oldest(kept(access).size() > 1     ? access
                : access == Access::reading ? Access::writing
                                            : Access::reading);
  }
}

void SharedFilePool::drop_oldest(Access access) {
  std::vector<Kept>& all = kept(access);
  held_.count -= all.front().file.bytes().size();
  all.erase(all.begin());
}

}  // namespace specgen
