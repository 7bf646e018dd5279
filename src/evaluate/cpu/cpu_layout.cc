#include "evaluate/cpu/cpu_layout.h"

#include <boost/json.hpp>

namespace specgen {

Json to_json(const CpuLayout& layout) {
  boost::json::array sets;
  for (const auto& set : layout.sets) {
    boost::json::array buffers;
    for (const MappedBuffer& buffer : set) {
      buffers.push_back(boost::json::array{buffer.file, buffer.file_offset, buffer.map_bytes,
                                           buffer.payload_offset, buffer.read_only ? 1 : 0});
    }
    sets.push_back(std::move(buffers));
  }
  return {{"sets", std::move(sets)},
          {"integers", boost::json::array(layout.integers.begin(), layout.integers.end())},
          {"reals", boost::json::array(layout.reals.begin(), layout.reals.end())},
          {"trailing_buffers", layout.trailing_buffers},
          {"with_threads", layout.with_threads}};
}

Result<CpuLayout> cpu_layout_from_json(const Json& json) {
  CpuLayout layout;
  try {
    for (const Json& set : json.at("sets").as_array()) {
      std::vector<MappedBuffer>& buffers = layout.sets.emplace_back();
      for (const Json& item : set.as_array()) {
        auto number = [&](std::size_t at) {
          return item.as_array().at(at).to_number<std::size_t>();
        };
        buffers.push_back({number(0), number(1), number(2), number(3), number(4) != 0});
      }
    }
    for (const Json& item : json.at("integers").as_array()) {
      layout.integers.push_back(item.to_number<std::int64_t>());
    }
    for (const Json& item : json.at("reals").as_array()) {
      layout.reals.push_back(item.to_number<double>());
    }
    layout.trailing_buffers = json.at("trailing_buffers").to_number<std::size_t>();
    layout.with_threads = json.at("with_threads").as_bool();
  } catch (const std::exception& error) {
    return fail(ErrorCode::bad_message, error.what());
  }
  return layout;
}

}  // namespace specgen
