#include "evaluate/cpu/fresh_files.h"

#include <algorithm>
#include <utility>

namespace specgen {
namespace {

constexpr std::size_t kMaxFiles = 512;  // ready or old; each has a descriptor

}  // namespace

Result<SharedFile> FreshFiles::take(std::size_t bytes, Access access) {
  Stock& stock = stocks_[{bytes, access}];
  ++stock.taken;
  if (stock.ready.empty()) return make(bytes, access);
  SharedFile file = std::move(stock.ready.back());
  stock.ready.pop_back();
  --files_ready_;
  bytes_ready_.count -= bytes;
  return file;
}

void FreshFiles::give_back(SharedFile file, Access, const Users&) {
  const std::size_t bytes = file.bytes().size();
  if (bytes_old_.count + bytes > limit_.count || old_.size() == kMaxFiles) return;  // freed now
  bytes_old_.count += bytes;
  old_.push_back(std::move(file));
}

void FreshFiles::learn() {
  if (std::ranges::none_of(stocks_, [](const auto& one) { return one.second.taken > 0; })) return;
  for (auto& [kind, stock] : stocks_) {
    stock.wanted = processes_ * std::exchange(stock.taken, 0);
    while (stock.ready.size() > stock.wanted) {
      give_back(std::move(stock.ready.back()), kind.access, {});
      stock.ready.pop_back();
      --files_ready_;
      bytes_ready_.count -= kind.bytes;
    }
  }
  std::erase_if(stocks_, [](const auto& one) { return one.second.wanted == 0; });
}

bool FreshFiles::step() {
  learn();
  if (!old_.empty()) {
    bytes_old_.count -= old_.back().bytes().size();
    old_.pop_back();
    return true;
  }
  for (auto& [kind, stock] : stocks_) {
    if (stock.ready.size() >= stock.wanted || files_ready_ == kMaxFiles ||
        bytes_ready_.count + kind.bytes > limit_.count) {
      continue;
    }
    auto file = make(kind.bytes, kind.access);
    if (!file) return false;  // take() reports the error
    stock.ready.push_back(std::move(*file));
    ++files_ready_;
    bytes_ready_.count += kind.bytes;
    return true;
  }
  return false;
}

}  // namespace specgen
