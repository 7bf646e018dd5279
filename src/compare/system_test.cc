#include "compare/system.h"

#include <gtest/gtest.h>

#include <set>

namespace specgen {
namespace {

TEST(Systems, have_unique_names) {
  std::set<std::string> names;
  for (const System& system : systems()) EXPECT_TRUE(names.insert(system.name).second);
  EXPECT_TRUE(names.contains("specgen"));
  EXPECT_TRUE(names.contains("kernelagent+spec"));
}

TEST(Systems, peers_have_a_device_for_each_task_and_do_not_speculate) {
  for (const System& system : find_systems("cudaforge,alphaevolve,kernelagent,dispatch2").value()) {
    EXPECT_EQ(system.pool, PoolForm::per_task) << system.name;
    EXPECT_FALSE(system.speculates() || system.early_stop) << system.name;
    bool is_two = system.name == "dispatch2";
    EXPECT_EQ(system.max_streams, is_two ? 2 : 1) << system.name;
    EXPECT_EQ(system.generations, is_two ? 2 : 1) << system.name;
  }
}

TEST(Systems, each_ablation_lacks_one_feature) {
  auto lacks = [](const System& system) {
    return (system.pool != PoolForm::elastic) + !system.harvest + !system.forks +
           !system.early_stop;
  };
  EXPECT_EQ(lacks(find_systems("specgen").value()[0]), 0);
  for (const System& system :
       find_systems("specgen-split,specgen-noharvest,specgen-noforks,specgen-nostop").value()) {
    EXPECT_EQ(lacks(system), 1) << system.name;
    EXPECT_EQ(system.workflow, "refine");
    EXPECT_TRUE(system.speculates()) << system.name;
  }
}

TEST(Systems, are_found_by_name_once_each_and_in_order) {
  auto found = find_systems(" specgen , cudaforge,specgen").value();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "specgen");
  EXPECT_EQ(found[1].name, "cudaforge");
}

TEST(Systems, that_are_unknown_are_an_error_with_the_most_similar_name) {
  auto found = find_systems("specgen,cudafroge");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unknown_name);
  EXPECT_NE(found.error().context.find("did you mean 'cudaforge'"), std::string::npos);
  EXPECT_FALSE(find_systems(""));
}

}  // namespace
}  // namespace specgen
