#include "evaluate/cuda/boxing.h"

namespace specgen {

WrapCommand wrap_with(const Sandbox& sandbox) {
  return [&sandbox](Command command, BoxLimits limits, BoxView view) -> Result<BoxedCommand> {
    Boxed boxed = TRY(sandbox.wrap(std::move(command), limits, std::move(view)));
    auto cage = std::make_shared<Cage>(std::move(boxed.cage));
    return BoxedCommand{.command = std::move(boxed.command),
                        .cage = cage,
                        .killed_for_memory = [cage] { return cage->killed_for_memory(); }};
  };
}

}  // namespace specgen
