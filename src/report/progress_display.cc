#include "report/progress_display.h"

#include <fmt/format.h>

namespace specgen {
namespace {

constexpr std::string_view kHideCursor = "\x1b[?25l", kShowCursor = "\x1b[?25h",
                           kEraseLine = "\x1b[K", kEraseBelow = "\x1b[J";

}  // namespace

ProgressDisplay::ProgressDisplay(Output output, SizeNow size)
    : output_(std::move(output)), size_(std::move(size)) {}

// The cursor is at the beginning of the last line shown.
std::string ProgressDisplay::erased() const {
  if (shown_.empty()) return {};
  std::string text = "\r";
  if (shown_.size() > 1) text += fmt::format("\x1b[{}A", shown_.size() - 1);
  text += kEraseBelow;
  return text;
}

void ProgressDisplay::draw(const ProgressView& view) {
  std::optional<TerminalSize> size = size_();
  if (!size) return;
  std::vector<std::string> lines = progress_lines(view, *size);
  if (lines == shown_ && size->columns == shown_columns_) return;
  std::string text;
  if (shown_.empty()) {
    text = kHideCursor;
  } else if (size->columns < shown_columns_ || lines.size() < shown_.size()) {
    text = erased();  // a narrower terminal has wrapped the old lines: they cannot be overwritten
  } else {
    text = "\r";
    if (shown_.size() > 1) text += fmt::format("\x1b[{}A", shown_.size() - 1);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\n";
    text += lines[i];
    text += kEraseLine;
  }
  text += "\r";
  output_(text);
  shown_ = std::move(lines);
  shown_columns_ = size->columns;
}

void ProgressDisplay::show(const ProgressEvents& events) {
  for (const ProgressEvent& event : events) print(event);
}

void ProgressDisplay::print(const ProgressEvent& event) {
  if (!size_()) {
    output_(event.text + "\n");
    return;
  }
  if (!event.notable) return;
  std::string text = erased() + event.text + std::string(kEraseLine) + "\n";
  for (std::size_t i = 0; i < shown_.size(); ++i) {
    if (i > 0) text += "\n";
    text += shown_[i];
    text += kEraseLine;
  }
  text += "\r";
  output_(text);
}

void ProgressDisplay::finish() {
  if (shown_.empty()) return;
  output_(erased() + std::string(kShowCursor));
  shown_.clear();
}

}  // namespace specgen
