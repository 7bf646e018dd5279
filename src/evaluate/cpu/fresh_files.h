#pragma once
// New memory for timings that count: every life is to meet other memory. What the last candidate took is made ahead for
// the next one, and what it gave back goes, in small steps while nobody waits:
//
//   while (files.step()) co_await loop.yield();

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "base/units.h"
#include "evaluate/cpu/tensor_files.h"

namespace specgen {

class FreshFiles final : public TensorFiles {
 public:
  // No more than `most` is made ahead, and no more waits to go.
  explicit FreshFiles(Bytes most) : most_(most) {}

  Result<SharedFile> take(std::size_t bytes, Access access) override;
  void give_back(SharedFile file, Access access, const Users& users) override;

  bool step();  // whether there was something to do

 private:
  struct Kind {
    std::size_t bytes;
    Access access;
    auto operator<=>(const Kind&) const = default;
  };
  struct Stock {
    std::size_t taken = 0;   // since the last step
    std::size_t wanted = 0;  // how many were taken by the last candidate
    std::vector<SharedFile> ready = {};
  };
  void learn();

  Bytes most_;
  std::map<Kind, Stock> stocks_;
  Bytes ready_ = {};
  std::vector<SharedFile> old_;
  Bytes held_ = {};  // in old_
};

}  // namespace specgen
