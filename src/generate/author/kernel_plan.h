#pragma once
// How the author writes a kernel: a plan per task and backend, read from kernels/BACKEND/TASK.kernel. A plan
// has decisions, each with choices from the plainest to the boldest, mistakes that can be made, and the
// text of the kernel, in which lines of the form `//?` say what depends on what:
//
//   //? decide width: how many floats should one vector hold
//   //?   1: Plain loops, and leave it to the compiler.
//   //?   8: Eight lanes fill a 256-bit register, and the loop has an eighth of the steps.
//   //? mistake missing_tail: The rows look like multiples of the width, so there is no tail to care about.
//   //? begin
//   for (int64_t j = 0; j + @width@ <= cols; j += @width@) { ... }
//   //? if mistake != missing_tail and width != 1
//   for (...) { ... }
//   //? elif CONDITION / else / end
//
// CONDITION is `NAME == VALUE` or `NAME != VALUE`, several joined by `and`. `@NAME@` is the choice made.
// What has not been decided yet is the first choice, so that a kernel can be written at any time.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

struct Choice {
  std::string value;
  std::string reason;  // a sentence in its favour
};

struct Decision {
  std::string name;
  std::string question;
  std::vector<Choice> choices;
};

struct Mistake {
  std::string name;
  std::string belief;  // the sentence that leads to it
};

using Decisions = std::map<std::string, std::string>;  // name to value

class KernelPlan {
 public:
  // `name` is for errors.
  static Result<KernelPlan> parse(std::string_view text, std::string name);

  std::span<const Decision> decisions() const { return decisions_; }
  std::span<const Mistake> mistakes() const { return mistakes_; }

  // Starts with a comment that names the decisions, which decisions_in() finds again. An empty
  // mistake is none.
  std::string write(const Decisions& made, std::string_view mistake = {}) const;

 private:
  struct Condition {
    std::string name;
    std::string value;
    bool equal = true;
  };
  // Lines of text, each with the branches it stands in: one entry per enclosing `if`, which holds when
  // its own conditions hold and those of the branches before it do not.
  struct Branch {
    std::vector<std::vector<Condition>> earlier;
    std::vector<Condition> own;
  };
  struct Line {
    std::string text;
    std::vector<Branch> branches;
  };
  Result<void> check(const std::vector<Condition>& conditions, const std::string& where) const;
  Result<std::vector<Condition>> parse_conditions(std::string_view text,
                                                  const std::string& where) const;

  std::vector<Decision> decisions_;
  std::vector<Mistake> mistakes_;
  std::vector<Line> lines_;
};

// The decisions that a kernel of the author's names in its first comment; none for others' kernels.
Decisions decisions_in(std::string_view source);

// Null if the author knows no such task. `task` is a title: "softmax", "softmax:f16".
const KernelPlan* find_plan(std::string_view task, std::string_view backend);

// The tasks with a plan for this backend, or for any if it is empty; sorted.
std::vector<std::string> author_tasks(std::string_view backend);

}  // namespace specgen
