#pragma once
// The positions of a case's buffers in shared files, as the judge sends them to an executor. Each
// buffer is mapped between two guard pages, and the payload is adjacent to one of them.

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace specgen {

struct MappedBuffer {
  std::size_t file = 0;         // index into the descriptors sent along
  std::size_t file_offset = 0;  // a multiple of the page size
  std::size_t map_bytes = 0;    // a multiple of the page size
  std::size_t payload_offset = 0;
  bool read_only = false;
};

struct CpuLayout {
  std::vector<std::vector<MappedBuffer>> sets;  // buffers in the order of the function's parameters
  std::vector<std::int64_t> integers;           // after the buffers: axes
  std::vector<double> reals;
  std::size_t trailing_buffers = 0;  // this many buffers of each set come after the integers
  bool with_threads = true;          // thread number and count come last
};

Json to_json(const CpuLayout& layout);
Result<CpuLayout> cpu_layout_from_json(const Json& json);

}  // namespace specgen
