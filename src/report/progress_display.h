#pragma once
// Shows progress on standard error: on a terminal a few lines that are redrawn in place, with notable events
// above them;
// elsewhere one line per event. Each redraw is one write, so that nothing flickers, and an unchanged display is not
// written again.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/progress.h"

namespace specgen {

class ProgressDisplay {
 public:
  using Output = std::function<void(std::string_view)>;          // standard error
  using SizeNow = std::function<std::optional<TerminalSize>()>;  // called at every redraw

  ProgressDisplay(Output output, SizeNow size);
  ~ProgressDisplay() { finish(); }
  ProgressDisplay(const ProgressDisplay&) = delete;

  void draw(const ProgressView& view);
  void show(const ProgressEvents& events);
  // Removes the display and shows the cursor again. A later draw() starts a new one.
  void finish();

 private:
  void print(const ProgressEvent& event);
  std::string erased() const;

  Output output_;
  SizeNow size_;
  std::vector<std::string> shown_;
  std::size_t shown_columns_ = 0;
};

}  // namespace specgen
