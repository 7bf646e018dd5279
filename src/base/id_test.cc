#include "base/id.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

namespace specgen {
namespace {

struct CandidateTag {
  static constexpr char prefix = 'c';
};
struct DeviceTag {
  static constexpr char prefix = 'd';
};
using CandidateId = Id<CandidateTag>;
using DeviceId = Id<DeviceTag>;

// An implicit conversion between id types would fail here.
static_assert(!std::is_convertible_v<DeviceId, CandidateId>);
static_assert(!std::is_convertible_v<std::uint64_t, CandidateId>);

TEST(Id, prints_with_its_prefix) {
  EXPECT_EQ(to_string(CandidateId{17}), "c17");
  EXPECT_EQ(to_string(DeviceId{0}), "d0");
}

TEST(Id, a_source_starts_at_one_so_that_zero_is_none) {
  IdSource<CandidateId> source;
  EXPECT_EQ(source.next(), CandidateId{1});
  EXPECT_EQ(source.next(), CandidateId{2});
  EXPECT_NE(source.next(), CandidateId{});
}

TEST(Id, is_ordered_and_can_be_a_key) {
  EXPECT_LT(CandidateId{9}, CandidateId{10});
  std::unordered_set<CandidateId> set{CandidateId{1}, CandidateId{2}, CandidateId{1}};
  EXPECT_EQ(set.size(), 2u);
  EXPECT_TRUE(set.contains(CandidateId{2}));
}

}  // namespace
}  // namespace specgen
