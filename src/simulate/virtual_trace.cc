#include "simulate/virtual_trace.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "generate/model.h"

namespace specgen {

std::string_view embedded_reasoning();  // generated

namespace {

constexpr std::string_view kMark = "(part ";
constexpr double kMillion = 1e6;
constexpr std::size_t kBytesPerToken = 3;  // as in estimate_tokens()
constexpr std::size_t kMaxMark = 160;

constexpr std::array<std::string_view, 4> kChangesOfMind{
    "Wait, that breaks for an odd number of columns.\n\n",
    "Actually, one pass is enough when the maximum is kept along.\n\n",
    "Hmm, wait, the tail would be read beyond its end.\n\n",
    "But wait, the barrier is missing between the two steps.\n\n"};
constexpr std::array<std::string_view, 3> kDecisions{
    "I'll go with four partial sums and a block of 64 columns.\n\n",
    "Let me go with one row per thread and wide loads.\n\n",
    "I'll use a running maximum and a single pass.\n\n"};
constexpr std::array<std::string_view, 3> kChecks{"That looks correct.\n\n",
                                                  "This looks right for the odd shapes too.\n\n",
                                                  "OK, that should work.\n\n"};

// The prose, repeated until every slice fits.
const std::string& prose() {
  static const std::string text = [] {
    constexpr std::size_t kLength = std::size_t{1} << 18;
    std::string all;
    while (all.size() < kLength) all.append(embedded_reasoning()).append("\n");
    return all;
  }();
  return text;
}

// From the beginning of a paragraph.
std::string_view slice(std::size_t length, Random& random) {
  const std::string& all = prose();
  std::size_t own = embedded_reasoning().size();
  std::size_t begin = all.find("\n\n", random.below(own)) + 2;
  return std::string_view(all).substr(begin, length);
}

template <std::size_t N>
std::string_view one_of(const std::array<std::string_view, N>& phrases, Random& random) {
  return phrases[random.below(N)];
}

// The aim as numbers: verdict; speedup, base, hoped and ripe in millionths.
void append_mark(std::string& text, std::int64_t part, std::int64_t parts, std::size_t bytes,
                 const TraceAim& aim) {
  auto millionths = [](double value) { return std::llround(value * kMillion); };
  fmt::format_to(std::back_inserter(text), "(part {} of {}, {} bytes, towards {} {} {} {} {})\n",
                 part, parts, bytes, static_cast<int>(aim.answer.verdict),
                 millionths(aim.answer.speedup), millionths(aim.base), millionths(aim.hoped),
                 millionths(aim.ripe));
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  std::size_t digit = text.find_first_of("0123456789\n");
  if (digit == std::string_view::npos || text[digit] == '\n') return std::nullopt;
  text.remove_prefix(digit);
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

std::optional<TracePosition> read_position(std::string_view prefix) {
  // The last marker may be cut off: then the one before it counts.
  for (std::size_t at = prefix.rfind(kMark); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : prefix.rfind(kMark, at - 1)) {
    std::string_view text = prefix.substr(at + kMark.size());
    std::size_t line = text.find('\n');
    if (line == std::string_view::npos) continue;
    std::size_t after = text.size() - line;
    std::array<std::int64_t, 8> numbers{};
    bool is_complete = std::ranges::all_of(numbers, [&](std::int64_t& number) {
      auto read = take_number(text);
      number = read.value_or(0);
      return read.has_value();
    });
    auto [part, parts, bytes, verdict, speedup, base, hoped, ripe] = numbers;
    if (!is_complete || part < 1 || part > parts || bytes < 1 ||
        verdict > static_cast<int>(Verdict::harness_error)) {
      continue;
    }
    double within = std::min(1.0, static_cast<double>(after) / static_cast<double>(bytes));
    TracePosition position;
    position.share = (static_cast<double>(part - 1) + within) / static_cast<double>(parts);
    position.aim.answer = {.verdict = static_cast<Verdict>(verdict),
                           .speedup = static_cast<double>(speedup) / kMillion};
    position.aim.base = static_cast<double>(base) / kMillion;
    position.aim.hoped = static_cast<double>(hoped) / kMillion;
    position.aim.ripe = static_cast<double>(ripe) / kMillion;
    return position;
  }
  return std::nullopt;
}

VirtualTraceWriter::VirtualTraceWriter(const TraceSettings& settings, const Skill& skill,
                                       TraceAim aim, std::int64_t reasoning_tokens, Faults& faults,
                                       Random random)
    : settings_(settings),
      skill_(skill),
      aim_(aim),
      tokens_(std::max<std::int64_t>(reasoning_tokens, 1)),
      parts_((tokens_ + settings.part_tokens - 1) / settings.part_tokens),
      faults_(faults),
      random_(random) {}

std::int64_t VirtualTraceWriter::next_tokens() const {
  return std::min(settings_.part_tokens, tokens_ - part_ * settings_.part_tokens);
}

void VirtualTraceWriter::add_draft(std::string& text) {
  bool repeats = last_draft_ && random_.chance(skill_.settings().draft_repeats);
  if (!repeats) {
    double share = static_cast<double>(part_) / static_cast<double>(parts_);
    last_draft_ = skill_.draft(aim_, share, random_);
    last_draft_->poison = faults_.occurs(Fault::poison);
    last_draft_->tunable = skill_.settings().tunable;
  }
  text += "Let me write the complete kernel:\n\n```cpp\n";
  text += virtual_kernel(*last_draft_);
  text += "```\n\n";
}

std::string VirtualTraceWriter::next() {
  std::int64_t tokens = next_tokens();
  auto bytes = static_cast<std::size_t>(tokens) * kBytesPerToken;
  ++part_;
  std::string text;
  text.reserve(bytes + kMaxMark);
  append_mark(text, part_, parts_, bytes, aim_);
  double thousands = static_cast<double>(tokens) / 1000;
  if (random_.chance(settings_.decisions * thousands)) text += one_of(kDecisions, random_);
  if (random_.chance(settings_.drafts * thousands)) {
    add_draft(text);
    if (random_.chance(settings_.checks * thousands)) text += one_of(kChecks, random_);
  } else if (random_.chance(settings_.checks * thousands)) {
    text += one_of(kChecks, random_);
  }
  if (random_.chance(settings_.changes_of_mind * thousands)) {
    text += one_of(kChangesOfMind, random_);
  }
  if (text.size() + 2 < bytes) {
    text += slice(bytes - text.size() - 2, random_);
    text += "\n\n";
  }
  return text;
}

}  // namespace specgen
