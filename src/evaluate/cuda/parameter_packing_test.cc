#include "evaluate/cuda/parameter_packing.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace specgen {
namespace {

template <class T>
T value_at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof value, bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string reason(std::vector<KernelParameter> parameters, std::vector<ParameterValue> values) {
  auto packed = pack_parameters("softmax<128>", parameters, values);
  return packed ? "" : packed.error();
}

TEST(ParameterPacking, gives_every_value_the_declared_width_and_offset) {
  std::vector<KernelParameter> parameters{{0, 8}, {8, 4}, {16, 8}, {24, 4}, {32, 8}, {64, 128}};
  TensormapValue map;
  map.words[15] = 77;
  std::vector<ParameterValue> values{
      AddressValue{0x7f1234567890}, std::int64_t{-5}, std::int64_t{1} << 40, 1.5, 2.25, map};
  auto packed = pack_parameters("k", parameters, values);
  ASSERT_TRUE(packed) << packed.error();
  EXPECT_EQ(packed->size(), 192U);
  EXPECT_EQ(value_at<std::uint64_t>(*packed, 0), 0x7f1234567890U);
  EXPECT_EQ(value_at<std::int32_t>(*packed, 8), -5);
  EXPECT_EQ(value_at<std::int64_t>(*packed, 16), std::int64_t{1} << 40);
  EXPECT_EQ(value_at<float>(*packed, 24), 1.5F);
  EXPECT_EQ(value_at<double>(*packed, 32), 2.25);
  EXPECT_EQ(value_at<std::uint64_t>(*packed, 64 + 120), 77U);
}

TEST(ParameterPacking, accepts_a_kernel_without_parameters) {
  auto packed = pack_parameters("k", {}, {});
  ASSERT_TRUE(packed);
  EXPECT_TRUE(packed->empty());
}

TEST(ParameterPacking, reports_a_wrong_count_with_both_numbers) {
  EXPECT_EQ(reason({{0, 8}, {8, 4}}, {AddressValue{}}),
            "kernel softmax<128> takes 2 arguments, the launch line gives 1");
  EXPECT_EQ(reason({{0, 8}}, {}), "kernel softmax<128> takes 1 argument, the launch line gives 0");
}

TEST(ParameterPacking, integers_fit_signed_or_unsigned_and_are_never_truncated) {
  EXPECT_EQ(reason({{0, 4}}, {std::int64_t{0xffffffff}}), "");
  EXPECT_EQ(reason({{0, 4}}, {-(std::int64_t{1} << 31)}), "");
  EXPECT_NE(reason({{0, 4}}, {std::int64_t{1} << 32}), "");
  EXPECT_NE(reason({{0, 4}}, {-(std::int64_t{1} << 31) - 1}), "");
  EXPECT_EQ(reason({{0, 1}}, {std::int64_t{1}}), "");
  EXPECT_NE(reason({{0, 1}}, {std::int64_t{256}}), "");
  EXPECT_EQ(reason({{0, 8}}, {std::numeric_limits<std::int64_t>::min()}), "");
  EXPECT_NE(reason({{0, 12}}, {std::int64_t{1}}), "") << "a struct is not a number";
}

TEST(ParameterPacking, names_kinds_that_do_not_fit) {
  EXPECT_NE(reason({{0, 4}}, {AddressValue{1}}).find("argument 1"), std::string::npos);
  EXPECT_NE(reason({{0, 2}}, {0.5}).find("declare float or double"), std::string::npos);
  EXPECT_NE(reason({{0, 4}}, {1e300}).find("does not fit into a float"), std::string::npos);
  EXPECT_NE(reason({{0, 64}}, {TensormapValue{}}).find("CUtensorMap"), std::string::npos);
  EXPECT_EQ(reason({{0, 4}}, {std::numeric_limits<double>::infinity()}), "");
}

TEST(ParameterPacking, refuses_absurd_offsets_without_allocating) {
  std::size_t huge = std::numeric_limits<std::size_t>::max();
  EXPECT_NE(reason({{huge - 3, 8}}, {AddressValue{}}), "");
  EXPECT_NE(reason({{0, huge}}, {AddressValue{}}), "");
}

}  // namespace
}  // namespace specgen
