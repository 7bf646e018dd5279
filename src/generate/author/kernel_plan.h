#pragma once
// The author's plan for a task and a backend, read from kernels/BACKEND/TASK.kernel. A plan has decisions, each
// with choices from the simplest to the most aggressive, possible mistakes, and the text of the kernel with
// `//?` lines for the parts that depend on them:
//
//   //? decide width: how many floats should one vector hold
//   //?   1: Plain loops, and leave it to the compiler.
//   //?   8: Eight floats fill a 256-bit register, and the loop has an eighth of the steps.
//   //? mistake missing_tail: The rows look like multiples of the width, so there is no tail to care about.
//   //? begin
//   for (int64_t j = 0; j + @width@ <= cols; j += @width@) { ... }
//   //? if mistake != missing_tail and width != 1
//   for (...) { ... }
//   //? elif CONDITION / else / end
//
// CONDITION is `NAME == VALUE` or `NAME != VALUE`, several joined by `and`. `@NAME@` is replaced by the choice.
// An open decision means its first choice, so that a kernel can be written at any time.

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

  // The source begins with a comment that lists the decisions, which decisions_in() reads. An empty
  // mistake means none.
  std::string write(const Decisions& made, std::string_view mistake = {}) const;

 private:
  struct Condition {
    std::string name;
    std::string value;
    bool equal = true;
  };
  // A line of text with one Branch per enclosing `if`. A branch is taken if its own conditions hold and those of
  // the branches before it do not.
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
  Result<bool> parse_declaration(std::string_view mark, const std::string& where);
  Result<void> parse_branch(std::string_view mark, const std::string& where,
                            std::vector<Branch>& open) const;

  std::vector<Decision> decisions_;
  std::vector<Mistake> mistakes_;
  std::vector<Line> lines_;
};

// The decisions listed in the first comment of a kernel by the author; none for other kernels.
Decisions decisions_in(std::string_view source);

// Null if the author has no plan for the task on this backend ("cpu", "cuda"); then it cannot write a kernel for it.
// `task` is a title: "softmax", "softmax:f16".
const KernelPlan* find_plan(std::string_view task, std::string_view backend);

// The tasks with a plan for this backend, or for any if it is empty; sorted.
std::vector<std::string> author_tasks(std::string_view backend);

}  // namespace specgen
