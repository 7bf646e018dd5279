#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "evaluate/cpu/cpu_facts.h"
#include "evaluate/cpu/instruction_kind.h"
#include "evaluate/host/tool_run.h"

namespace specgen {
namespace {

struct Function {
  std::string_view name;
  std::vector<Instruction> body = {};
  std::vector<std::size_t> targets = {};  // of branches, as indices into the body; kOutside if none
};
constexpr std::size_t kOutside = static_cast<std::size_t>(-1);

struct Range {  // of instructions, both ends included
  std::size_t first = 0;
  std::size_t last = 0;
};

// "0000000000001150 <saxpy>:"; a demangled name may have brackets of its own.
std::optional<std::string_view> function_name(std::string_view line) {
  line = trim(line);
  std::size_t open = line.find(" <");
  if (open == line.npos || !line.ends_with(">:")) return std::nullopt;
  if (line.substr(0, open).find_first_not_of("0123456789abcdef") != line.npos) return std::nullopt;
  return line.substr(open + 2, line.size() - open - 4);
}

std::vector<Function> functions_of(std::string_view text) {
  Processor processor =
      text.substr(0, 400).contains("aarch64") ? Processor::aarch64 : Processor::x86_64;
  std::vector<Function> functions;
  for (std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    if (!is_space(line.front())) {
      if (auto name = function_name(line)) functions.push_back({*name});
      continue;
    }
    if (functions.empty()) continue;
    if (auto instruction = parse_instruction(line, processor)) {
      functions.back().body.push_back(*instruction);
    }
  }
  // Stubs of the linker are not the candidate's code.
  std::erase_if(functions, [](const Function& function) {
    return function.body.empty() || function.name.contains("@plt");
  });
  return functions;
}

void find_targets(Function& function) {
  for (const Instruction& instruction : function.body) {
    function.targets.push_back(kOutside);
    if (!instruction.target) continue;
    auto found =
        std::ranges::lower_bound(function.body, *instruction.target, {}, &Instruction::address);
    if (found == function.body.end() || found->address != *instruction.target) continue;
    function.targets.back() = static_cast<std::size_t>(found - function.body.begin());
  }
}

// Compilers place rare code after a function's end and jump back from there: a backward jump is a
// loop only if it can be reached from its target. Long searches are abandoned, and the jump counts
// as a loop.
bool comes_round(const Function& function, Range range, std::size_t& steps_left) {
  std::size_t size = range.last - range.first + 1;
  if (steps_left < size) return true;
  steps_left -= size;
  std::vector<bool> seen(size, false);
  std::vector<std::size_t> open{range.first};
  while (!open.empty()) {
    std::size_t at = open.back();
    open.pop_back();
    if (at < range.first || at > range.last || seen[at - range.first]) continue;
    if (at == range.last) return true;
    seen[at - range.first] = true;
    if (!function.body[at].ends) open.push_back(at + 1);
    if (function.targets[at] != kOutside) open.push_back(function.targets[at]);
  }
  return false;
}

std::vector<Range> innermost_loops(const Function& function, std::size_t& steps_left) {
  std::map<std::size_t, std::size_t> last_of;  // by the first: `continue` jumps to the same place
  for (std::size_t i = 0; i < function.body.size(); ++i) {
    std::size_t first = function.targets[i];
    if (first <= i && comes_round(function, {first, i}, steps_left)) {
      last_of[first] = std::max(last_of[first], i);
    }
  }
  std::vector<Range> loops;
  for (auto [first, last] : last_of) loops.push_back({first, last});
  // In the order of their ends, a loop contains another one iff an earlier one begins within it.
  std::ranges::sort(loops, [](const Range& a, const Range& b) {
    return std::tuple(a.last, b.first) < std::tuple(b.last, a.first);
  });
  std::vector<Range> innermost;
  std::optional<std::size_t> latest_first;
  for (const Range& loop : loops) {
    if (!latest_first || *latest_first < loop.first) innermost.push_back(loop);
    latest_first = std::max(latest_first.value_or(0), loop.first);
  }
  return innermost;
}

struct Counted {
  InstructionMix mix;
  int width = 0;
  int vectors = 0;  // instructions that name a vector register

  auto heat() const {
    return std::tuple(mix.vector_float, mix.vector_float + mix.scalar_float, width > 16 ? width : 0,
                      vectors, mix.instructions);
  }
};

Counted count(std::span<const Instruction> code) {
  Counted counted;
  InstructionMix& mix = counted.mix;
  bool scalable = false;
  bool neon = false;
  for (const Instruction& it : code) {
    ++mix.instructions;
    mix.vector_float += it.vector_float;
    mix.scalar_float += it.scalar_float;
    mix.fused_multiply_add += it.fused;
    mix.loads += it.load;
    mix.stores += it.store;
    mix.branches += it.branch;
    mix.calls += it.call;
    counted.width = std::max(counted.width, it.width);
    counted.vectors += it.width > 0;
    scalable |= it.width == 1;
    neon |= it.neon;
  }
  mix.widest = scalable              ? "sve"
               : neon                ? "neon"
               : counted.width == 64 ? "zmm"
               : counted.width == 32 ? "ymm"
               : counted.width == 16 ? "xmm"
                                     : "none";
  return counted;
}

}  // namespace

Result<InstructionMix> hot_loop_mix(std::string_view objdump_output, std::string_view entry) {
  std::vector<Function> functions = functions_of(objdump_output);
  std::size_t steps_left = 2'000'000;
  std::optional<Counted> hottest;
  for (Function& function : functions) {
    find_targets(function);
    for (Range loop : innermost_loops(function, steps_left)) {
      Counted counted =
          count(std::span(function.body).subspan(loop.first, loop.last - loop.first + 1));
      if (hottest && !(counted.heat() > hottest->heat())) continue;
      counted.mix.where = fmt::format("loop of {} instructions in {}", counted.mix.instructions,
                                      printable(function.name));
      hottest = std::move(counted);
    }
  }
  if (hottest) return std::move(hottest->mix);
  auto whole = std::ranges::find(functions, entry, &Function::name);
  if (whole == functions.end()) {
    return fail(ErrorCode::bad_message,
                fmt::format("the disassembly has no loop and no function {}", printable(entry)));
  }
  Counted counted = count(whole->body);
  counted.mix.where = fmt::format("all {} instructions of {}, which has no loop",
                                  counted.mix.instructions, printable(entry));
  return std::move(counted.mix);
}

}  // namespace specgen
