#include "generate/author/author_kernel.h"

#include <algorithm>

#include "base/hash.h"
#include "base/text.h"

namespace specgen {
namespace {

// Share of mistakes that follow from a belief stated in the reasoning; the others are slips.
constexpr double kBelievedShare = 0.7;
// Share of slips that are syntax errors, which a compiler finds.
constexpr double kSyntaxShare = 0.3;
// Repairs are correct more often: they know what failed.
constexpr double kRepairFactor = 0.5;

double rate_of(const Assignment& assignment) {
  bool repairs = repairs_its_parent(assignment.context.role);
  return assignment.mistake_rate * (repairs ? kRepairFactor : 1);
}

// The probability of a slip: the full rate if nothing was stated, and what the beliefs leave of it after a
// correct statement.
double slip_rate(const Assignment& assignment, Care care) {
  double rate = rate_of(assignment);
  if (care != Care::careful || rate >= 1) return rate;
  double believed = belief_rate(assignment);
  return (rate - believed) / (1 - believed);
}

std::uint64_t draw_at(const Assignment& assignment, const Decisions& made, std::size_t position) {
  TraceHash hash;
  hash.mix(assignment.draw);
  for (const auto& [name, value] : made) {
    hash.mix(name);
    hash.mix(value);
  }
  hash.mix(position);
  return hash.value();
}

// Without one of its semicolons, or, if it has none, without its last brace.
std::string with_syntax_slip(std::string source, Random& random) {
  std::vector<std::size_t> semicolons;
  std::size_t at = 0;
  for (std::string_view line : split(source, '\n')) {
    std::string_view code = trim(line);
    if (code.ends_with(';') && !code.starts_with("//") && !code.starts_with('#')) {
      semicolons.push_back(at + line.rfind(';'));
    }
    at += line.size() + 1;
  }
  if (!semicolons.empty()) {
    source.erase(semicolons[random.below(semicolons.size())], 1);
  } else if (std::size_t brace = source.rfind('}'); brace != std::string::npos) {
    source.erase(brace, 1);
  } else {
    source += "}\n";
  }
  return source;
}

bool makes_a_difference(const KernelPlan& plan, const Decisions& made, std::string_view mistake) {
  return plan.write(made, mistake) != plan.write(made);
}

std::string slip(const KernelPlan& plan, const Decisions& made, Random& random) {
  if (random.chance(kSyntaxShare)) return std::string(kSyntaxSlip);
  std::vector<std::string> all;
  for (const Mistake& mistake : plan.mistakes()) all.push_back(mistake.name);
  random.shuffle(all);
  for (const std::string& name : all) {
    if (makes_a_difference(plan, made, name)) return name;
  }
  return std::string(kSyntaxSlip);
}

}  // namespace

Random random_from(std::uint64_t draw, std::string_view purpose) {
  TraceHash hash;
  hash.mix(draw);
  hash.mix(purpose);
  return Random(hash.value());
}

double belief_rate(const Assignment& assignment) {
  return kBelievedShare * rate_of(assignment);
}

Decisions starting_decisions(const KernelPlan& plan, const PromptContext& context) {
  Decisions known;
  Decisions named = decisions_in(context.parent_source);
  for (const Decision& decision : plan.decisions()) {
    auto found = named.find(decision.name);
    if (found != named.end() && std::ranges::find(decision.choices, found->second,
                                                  &Choice::value) != decision.choices.end()) {
      known.insert(*found);
    }
  }
  return known;
}

WrittenKernel kernel_after(const Assignment& assignment, std::string_view reasoning) {
  const KernelPlan& plan = assignment.plan;
  Conclusions concluded = read_conclusions(plan, reasoning);
  WrittenKernel kernel;
  kernel.made = starting_decisions(plan, assignment.context);
  for (auto& [name, value] : concluded.made) kernel.made[name] = value;

  // White space around the reasoning comes from chat templates.
  Random random(draw_at(assignment, kernel.made, trim(reasoning).size()));
  bool believed =
      concluded.care == Care::mistaken && makes_a_difference(plan, kernel.made, concluded.mistake);
  if (believed) {
    kernel.mistake = concluded.mistake;
  } else if (random.chance(slip_rate(assignment, concluded.care))) {
    kernel.mistake = slip(plan, kernel.made, random);
  }
  if (kernel.mistake == kSyntaxSlip) {
    kernel.source = with_syntax_slip(plan.write(kernel.made), random);
  } else {
    kernel.source = plan.write(kernel.made, kernel.mistake);
  }
  return kernel;
}

std::optional<std::string> mistake_in(const KernelPlan& plan, std::string_view source) {
  Decisions made = decisions_in(source);
  if (made.empty()) return std::nullopt;
  if (trim(plan.write(made)) == trim(source)) return "";
  for (const Mistake& mistake : plan.mistakes()) {
    if (trim(plan.write(made, mistake.name)) == trim(source)) return mistake.name;
  }
  return std::string(kSyntaxSlip);
}

}  // namespace specgen
