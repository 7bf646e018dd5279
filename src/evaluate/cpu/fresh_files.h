#pragma once
// New memory for timings that count: every life is to meet other memory. What the last life took is made ahead for
// those of the next candidate, and what was given back goes, in small steps while nobody waits:
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
  // For so many lives of a candidate. No more than `most` is made ahead, and no more waits to go.
  FreshFiles(std::size_t lives, Bytes most) : lives_(lives), most_(most) {}

  void begin_life() { learn(); }
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
    std::size_t taken = 0;   // by this life
    std::size_t wanted = 0;  // by the lives of the next candidate
    std::vector<SharedFile> ready = {};
  };
  void learn();

  std::size_t lives_;
  Bytes most_;
  std::map<Kind, Stock> stocks_;
  std::size_t files_ready_ = 0;
  Bytes bytes_ready_ = {};
  std::vector<SharedFile> old_;
  Bytes bytes_old_ = {};
};

}  // namespace specgen
