#include "evaluate/cuda/boxing.h"

#include <array>

#include "base/environment.h"

namespace specgen {

WrapCommand unboxed() {
  return [](Command command, const BoxLimits&, const BoxView&) -> Result<BoxedCommand> {
    return BoxedCommand{.command = std::move(command)};
  };
}

std::vector<std::string> cuda_environment() {
  constexpr std::array<std::string_view, 6> kKept{
      "CUDA_HOME=",         "CUDA_PATH=", "CUDA_VISIBLE_DEVICES=",
      "CUDA_DEVICE_ORDER=", "NVIDIA_",    "LD_LIBRARY_PATH="};
  constexpr std::array<std::string_view, 3> kPlaces{"PATH=", "HOME=", "TMPDIR="};
  std::vector<std::string> environment = whole_environment();
  std::erase_if(environment, [&](const std::string& entry) {
    auto begins = [&](std::string_view name) { return entry.starts_with(name); };
    return std::ranges::none_of(kKept, begins) && std::ranges::none_of(kPlaces, begins);
  });
  return environment;
}

}  // namespace specgen
