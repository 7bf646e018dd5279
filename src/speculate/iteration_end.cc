// Apart from iteration.cc, so that programs that only read how iterations ended do not link what runs them.

#include <array>

#include "speculate/iteration.h"

namespace specgen {
namespace {

struct Named {
  IterationEnd end;
  std::string_view name;
  std::string_view old_name = {};
};
constexpr std::array kNames{
    Named{IterationEnd::answered, "answered"},
    Named{IterationEnd::stopped, "stopped"},
    Named{IterationEnd::no_kernel, "no_kernel"},
    Named{IterationEnd::failed, "failed"},
    Named{IterationEnd::interrupted, "interrupted"},
    Named{IterationEnd::superseded, "superseded", "overtaken"},
    Named{IterationEnd::abandoned, "abandoned", "given_up"},
    Named{IterationEnd::restarted, "restarted", "begun_again"},
};

}  // namespace

std::string_view to_string(IterationEnd end) {
  return kNames[static_cast<std::size_t>(end)].name;
}

std::optional<IterationEnd> parse_iteration_end(std::string_view name) {
  for (const Named& known : kNames) {
    if (name == known.name || (!name.empty() && name == known.old_name)) return known.end;
  }
  return std::nullopt;
}

}  // namespace specgen
