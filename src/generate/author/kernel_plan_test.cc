#include "generate/author/kernel_plan.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

constexpr std::string_view kPlan = R"(Notes for readers.
//? decide width: how wide
//?   1: Plain.
//?   8: Wide.
//? decide sums: how many
//?   one: Simple.
//?   many: Fast.
//? mistake missing_tail: There is no tail.
//? begin
head @width@
//? if width == 8 and sums == many
wide, many
//? elif width == 8
wide
//? if mistake != missing_tail
tail
//? end
//? else
plain
//? end
foot
)";

KernelPlan plan() {
  return KernelPlan::parse(kPlan, "test").value();
}

TEST(KernelPlan, an_open_decision_means_its_first_choice) {
  EXPECT_EQ(plan().write({}), "// author: width = 1, sums = one\nhead 1\nplain\nfoot\n");
}

TEST(KernelPlan, a_decision_chooses_its_branch) {
  EXPECT_EQ(plan().write({{"width", "8"}}),
            "// author: width = 8, sums = one\nhead 8\nwide\ntail\nfoot\n");
  EXPECT_EQ(plan().write({{"width", "8"}, {"sums", "many"}}),
            "// author: width = 8, sums = many\nhead 8\nwide, many\nfoot\n");
}

TEST(KernelPlan, a_mistake_changes_the_kernel_and_not_its_signature) {
  EXPECT_EQ(plan().write({{"width", "8"}}, "missing_tail"),
            "// author: width = 8, sums = one\nhead 8\nwide\nfoot\n");
}

TEST(KernelPlan, an_unknown_choice_counts_as_open) {
  EXPECT_EQ(plan().write({{"width", "7"}}), plan().write({}));
}

TEST(KernelPlan, decisions_are_read_back_from_the_kernel) {
  Decisions made{{"width", "8"}, {"sums", "many"}};
  EXPECT_EQ(decisions_in(plan().write(made)), made);
  EXPECT_TRUE(decisions_in("int main() {}").empty());
}

TEST(KernelPlan, bad_plans_are_refused_with_their_line) {
  auto error_of = [](std::string_view text) {
    auto parsed = KernelPlan::parse(text, "p");
    return parsed ? std::string() : parsed.error().context;
  };
  EXPECT_EQ(error_of("//? begin\n//? if x == 1\n//? end\n"), "p:2: there is no decision 'x'");
  EXPECT_EQ(error_of("//? decide x: y\n//?   1: z\n//? begin\n//? if x == 2\n"),
            "p:4: '2' is not a choice of 'x'");
  EXPECT_EQ(error_of("//? decide x: y\n//?   1: z\n//? begin\n//? if x == 1\n"),
            "p: an if has no end");
  EXPECT_EQ(error_of("//? decide x: y\n//? begin\n"), "p: x has no choices");
  EXPECT_EQ(error_of("//? begin\n//? end\n"), "p:2: there is no open if");
  EXPECT_EQ(error_of("int x;\n"), "p: there is no begin");
}

TEST(KernelPlan, plans_that_ship_are_found_by_task_and_backend) {
  ASSERT_NE(find_plan("softmax", "cpu"), nullptr);
  EXPECT_EQ(find_plan("softmax:f16", "cpu"), find_plan("softmax", "cpu"));
  EXPECT_EQ(find_plan("nothing", "cpu"), nullptr);
}

}  // namespace
}  // namespace specgen
