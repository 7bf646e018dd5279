#pragma once
// New memory for timings that count: each process of a candidate must get different memory. The
// sizes that the last process took are allocated ahead for the next candidate, and returned files
// are freed, in small steps between jobs:
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
  // A candidate is timed in so many processes. At most `limit` is allocated ahead, and at most
  // `limit` waits to be freed.
  FreshFiles(std::size_t processes, Bytes limit) : processes_(processes), limit_(limit) {}

  void begin_process() { learn(); }
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
    std::size_t taken = 0;   // by this process
    std::size_t wanted = 0;  // by the processes of the next candidate
    std::vector<SharedFile> ready = {};
  };
  void learn();

  std::size_t processes_;
  Bytes limit_;
  std::map<Kind, Stock> stocks_;
  std::size_t files_ready_ = 0;
  Bytes bytes_ready_ = {};
  std::vector<SharedFile> old_;
  Bytes bytes_old_ = {};
};

}  // namespace specgen
