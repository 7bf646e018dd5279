#include "generate/author/advice.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "generate/author/learning.h"
#include "generate/author/reasoning.h"

namespace specgen {
namespace {

using boost::json::array;
using boost::json::object;

// The most promising change: one decision, and the plan's reason for it.
struct Recommendation {
  std::string change;  // `width = 8`; empty if there is none
  std::string question;
  std::string reason;
};

Recommendation recommend(const Assignment& assignment) {
  const KernelPlan& plan = assignment.plan;
  Random random = random_from(assignment.draw, "goal");
  PromptContext unadvised = assignment.context;
  unadvised.advice.clear();
  Decisions goal = next_goal(plan, unadvised, random);
  Decisions start = completed(plan, starting_decisions(plan, unadvised));
  for (const Decision& decision : plan.decisions()) {
    const std::string& value = goal.at(decision.name);
    if (start.at(decision.name) == value) continue;
    auto choice = std::ranges::find(decision.choices, value, &Choice::value);
    return {fmt::format("`{} = {}`", decision.name, value), decision.question, choice->reason};
  }
  return {};
}

const Mistake* mistake_of_parent(const Assignment& assignment) {
  auto name = mistake_in(assignment.plan, assignment.context.parent_source);
  if (!name) return nullptr;
  auto found = std::ranges::find(assignment.plan.mistakes(), *name, &Mistake::name);
  return found == assignment.plan.mistakes().end() ? nullptr : &*found;
}

bool parent_failed(const Assignment& assignment) {
  const auto& feedback = assignment.context.feedback;
  return !feedback.empty() && feedback.back().verdict != "ok";
}

Json correctness_issue(const Assignment& assignment) {
  const PromptFeedback& last = assignment.context.feedback.back();
  auto name = mistake_in(assignment.plan, assignment.context.parent_source);
  if (const Mistake* mistake = mistake_of_parent(assignment)) {
    return object{
        {"critical_issue", "The code follows from a belief that is false: " + mistake->belief},
        {"why_it_matters", "The verdict is " + last.verdict + " because of it."},
        {"minimal_fix_hint", "Fix that place and leave the decisions as they are."}};
  }
  if (name && !name->empty()) {
    return object{{"critical_issue", "A slip of syntax: a semicolon or brace is missing."},
                  {"why_it_matters", "It does not compile."},
                  {"minimal_fix_hint", "Write the same kernel again, carefully."}};
  }
  return object{
      {"critical_issue", "The kernel fails as " + last.verdict + ": " + quoted(last.evidence)},
      {"why_it_matters", "It cannot be timed before it is right."},
      {"minimal_fix_hint", "Go back to a plainer choice."}};
}

Json judged(const Assignment& assignment) {
  if (parent_failed(assignment)) return correctness_issue(assignment);
  Recommendation best = recommend(assignment);
  if (best.change.empty()) {
    return object{{"bottleneck", "None that a known change would remove."},
                  {"optimisation method", "Keep the kernel as it is."},
                  {"modification plan", "No change."}};
  }
  return object{{"bottleneck", "What limits it is a question of " + best.question + "."},
                {"optimisation method", best.reason},
                {"modification plan", "Change one decision: " + best.change + "."}};
}

Json bottleneck(const Assignment& assignment) {
  Recommendation best = recommend(assignment);
  const auto& feedback = assignment.context.feedback;
  std::string evidence =
      feedback.empty() ? "nothing was measured yet" : quoted(feedback.back().evidence);
  // The judge's evidence names what limits a kernel; else a guess.
  std::string category = evidence.contains("memory")    ? "memory"
                         : evidence.contains("compute") ? "compute"
                                                        : "underutilized";
  object fix{{"fix", best.change.empty() ? "keep the kernel as it is" : best.change},
             {"rationale", best.reason}};
  object found{{"category", category},
               {"summary", best.question.empty() ? "no known change is left" : best.question},
               {"reasoning", best.reason},
               {"root_causes", array{object{{"cause", best.question}, {"evidence", evidence}}}},
               {"recommended_fixes", array{std::move(fix)}}};
  return object{{"bottlenecks", array{std::move(found)}}};
}

Json reflexion(const Assignment& assignment) {
  std::vector<Trial> trials = trials_of(assignment.plan, assignment.context);
  const Trial* last = trials.empty() ? nullptr : &trials.back();
  const Trial* before = trials.size() > 1 ? &trials[trials.size() - 2] : nullptr;
  bool faster = last && last->ok && (!before || last->speedup > before->speedup);
  array lessons, avoid, attempt;
  for (const Decision& decision : assignment.plan.decisions()) {
    for (const Choice& choice : decision.choices) {
      auto worth = worth_of(trials, decision.name, choice.value);
      std::string pair = fmt::format("`{} = {}`", decision.name, choice.value);
      if (worth && *worth > 0) lessons.push_back(Json(pair + " went with the faster kernels"));
      if (worth && *worth < 0) avoid.push_back(Json(pair));
    }
  }
  if (last && !last->mistake.empty()) {
    lessons.push_back(Json("the last failure was a slip (" + last->mistake + "), not the design"));
  }
  Recommendation next = recommend(assignment);
  if (!next.change.empty()) attempt.push_back(Json(next.change));
  return object{{"was_diagnosis_correct", faster},
                {"was_fix_effective", faster},
                {"expected_outcome", "a kernel that is right and faster than its parent"},
                {"actual_outcome", !last      ? std::string("nothing of mine was judged")
                                   : last->ok ? fmt::format("ok at {:.2f}x", last->speedup)
                                              : last->verdict},
                {"reasoning", next.reason},
                {"lessons", std::move(lessons)},
                {"avoid_patterns", std::move(avoid)},
                {"try_patterns", std::move(attempt)}};
}

}  // namespace

bool gives_advice(std::string_view role) {
  return role == "judge" || role == "bottleneck" || role == "reflexion";
}

Json advice_for(const Assignment& assignment) {
  if (assignment.context.role == "bottleneck") return bottleneck(assignment);
  if (assignment.context.role == "reflexion") return reflexion(assignment);
  return judged(assignment);
}

}  // namespace specgen
