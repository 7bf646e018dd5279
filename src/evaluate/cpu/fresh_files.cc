#include "evaluate/cpu/fresh_files.h"

#include <algorithm>
#include <utility>

namespace specgen {

Result<SharedFile> FreshFiles::take(std::size_t bytes, Access access) {
  Stock& stock = stocks_[{bytes, access}];
  ++stock.taken;
  if (stock.ready.empty()) return make(bytes, access);
  SharedFile file = std::move(stock.ready.back());
  stock.ready.pop_back();
  ready_.count -= bytes;
  return file;
}

void FreshFiles::give_back(SharedFile file, Access, const Users&) {
  const std::size_t bytes = file.bytes().size();
  if (held_.count + bytes > most_.count) return;  // it goes at once
  held_.count += bytes;
  old_.push_back(std::move(file));
}

// A candidate that was not timed tells nothing about the next one.
void FreshFiles::learn() {
  if (std::ranges::none_of(stocks_, [](const auto& one) { return one.second.taken > 0; })) return;
  for (auto& [kind, stock] : stocks_) {
    stock.wanted = std::exchange(stock.taken, 0);
    if (stock.wanted == 0) ready_.count -= kind.bytes * stock.ready.size();
  }
  std::erase_if(stocks_, [](const auto& one) { return one.second.wanted == 0; });
}

bool FreshFiles::step() {
  learn();
  if (!old_.empty()) {
    held_.count -= old_.back().bytes().size();
    old_.pop_back();
    return true;
  }
  for (auto& [kind, stock] : stocks_) {
    if (stock.ready.size() >= stock.wanted || ready_.count + kind.bytes > most_.count) continue;
    auto file = make(kind.bytes, kind.access);
    if (!file) return false;  // whoever needs it will be told
    stock.ready.push_back(std::move(*file));
    ready_.count += kind.bytes;
    return true;
  }
  return false;
}

}  // namespace specgen
