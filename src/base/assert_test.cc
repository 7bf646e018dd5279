#include "base/assert.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(AssertDeathTest, a_false_condition_ends_the_program_in_every_build) {
  int leases = 0;
  EXPECT_DEATH(SG_ASSERT(leases > 0, "release() without acquire()"),
               "this is a bug: leases > 0: release\\(\\) without acquire\\(\\) .*assert_test.cc:");
}

TEST(AssertDeathTest, panic_says_that_it_is_a_bug_and_where) {
  EXPECT_DEATH(SG_PANIC("100% lost"), "this is a bug: 100% lost .*assert_test.cc:[0-9]+");
}

TEST(Assert, a_true_condition_is_evaluated_once) {
  int evaluated = 0;
  SG_ASSERT(++evaluated == 1, "must not fire");
  EXPECT_EQ(evaluated, 1);
}

TEST(Assert, is_one_statement_so_that_else_belongs_to_the_outer_if) {
  bool reached = false;
  bool taken = false;
  if (taken)
    SG_ASSERT(true, "not here");
  else
    reached = true;
  EXPECT_TRUE(reached);
}

#ifdef SPECGEN_CHECK_INVARIANTS
TEST(AssertDeathTest, a_broken_invariant_ends_the_program_where_invariants_are_checked) {
  EXPECT_DEATH(SG_INVARIANT(1 > 2, "numbers are in order"), "numbers are in order");
}
#else
TEST(Assert, an_invariant_costs_nothing_where_invariants_are_not_checked) {
  int evaluated = 0;
  SG_INVARIANT(++evaluated == 0, "must not be looked at");
  EXPECT_EQ(evaluated, 0);
}
#endif

}  // namespace
}  // namespace specgen
