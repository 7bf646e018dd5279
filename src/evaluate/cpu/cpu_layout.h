#pragma once
// How the buffers of a case lie in shared files, told by the judge to an executor. Each buffer gets
// a mapping of its own between two pages that nobody may touch; the payload leans on one of them.

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace specgen {

struct MappedBuffer {
  std::size_t file = 0;         // which of the descriptors that come along
  std::size_t file_offset = 0;  // whole pages
  std::size_t map_bytes = 0;    // whole pages
  std::size_t payload_offset = 0;
  bool read_only = false;
};

struct CpuLayout {
  std::vector<std::vector<MappedBuffer>> sets;  // buffers in the order of the function's parameters
  std::vector<std::int64_t> integers;           // after the buffers: axes
  std::vector<double> reals;
  std::size_t trailing_buffers = 0;  // of each set's buffers, so many come after the integers
  bool with_threads = true;          // tid and nthreads come last
};

Json to_json(const CpuLayout& layout);
Result<CpuLayout> cpu_layout_from_json(const Json& json);

}  // namespace specgen
