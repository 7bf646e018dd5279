#include "evaluate/cuda/executor.h"

#include <gtest/gtest.h>

#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

TEST(ExecutorPool, starts_many_when_few_are_left) {
  ToolFixture fixture;
  ExecutorPool pool({.loop = fixture.loop,
                     .driver = fixture.driver,
                     .processes = fixture.processes,
                     .self = {"/bin/cat"}});
  ASSERT_TRUE(pool.replenish(1, 3));
  EXPECT_EQ(pool.warm(), 3U);
  ASSERT_TRUE(pool.replenish(3, 5));
  EXPECT_EQ(pool.warm(), 3U) << "three are enough";
  ASSERT_TRUE(pool.replenish(4, 5));
  EXPECT_EQ(pool.warm(), 5U);
}

}  // namespace
}  // namespace specgen
