#include "evaluate/candidate/launch_plan.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>

namespace specgen {
namespace {

using Kind = PlannedArgument::Kind;

class LaunchPlanTest : public testing::Test {
 protected:
  LaunchPlanTest() {
    task_.element = Dtype::f16;
    task_.scalars = {{"eps", 1e-5}};
    at_.axes = {{"rows", 6}, {"cols", 64}};
    at_.inputs = {{"x", Dtype::f16, {6, 64}, 384}};
    at_.outputs = {{"y", Dtype::f32, {6, 64}, 384}};
  }

  Accepted<LaunchPlan> resolved(std::string_view source) {
    auto directives = parse_directives(source);
    if (!directives) return std::unexpected(directives.error());
    Values tunables = *tunable_values(*directives, {});
    return resolve(*directives, task_, at_, tunables, limits_);
  }
  LaunchPlan plan(std::string_view source) {
    auto result = resolved(source);
    if (!result) ADD_FAILURE() << result.error().line << ": " << result.error().reason;
    return result ? *result : LaunchPlan{{}, {}, {}, {PlannedLaunch{}}};
  }
  std::string refusal(std::string_view source) {
    auto result = resolved(source);
    return result ? "accepted" : result.error().reason;
  }
  std::string refusal_of_launch(std::string_view launch) {
    return refusal("// specgen:launch " + std::string(launch));
  }
  std::string cpu(std::string_view source) {
    auto directives = parse_directives(source);
    if (!directives) return directives.error().reason;
    auto bytes = resolve_scratch(*directives, at_, *tunable_values(*directives, {}));
    return bytes ? std::to_string(*bytes) : bytes.error().reason;
  }

  KernelTask task_;
  Case at_;
  LaunchLimits limits_;
};

TEST_F(LaunchPlanTest, knows_what_every_name_is) {
  LaunchPlan made = plan(R"(// specgen:tune B = 32
// specgen:scratch s f64[rows, 2]
// specgen:zero s, y
// specgen:tensormap t = tiled(x, box(2, 8))
// specgen:launch k<B, float><<<(rows, 2), B, 4*B, cluster=(2,1,1), cooperative>>>(x, y + cols, s + 1, \
//     t, eps, rows, B, cols - 1, 2.5, rows + 1, sizeof_T))");
  EXPECT_EQ(made.scratch_bytes, std::vector<std::size_t>{96});
  EXPECT_EQ(made.zeroed_buffers, (std::vector<std::size_t>{1, 2}));
  ASSERT_EQ(made.tensormaps.size(), 1U);
  EXPECT_EQ(made.tensormaps[0].dimensions, (std::vector<std::uint64_t>{64, 6}));
  EXPECT_EQ(made.tensormaps[0].box, (std::vector<std::uint32_t>{8, 2}));
  ASSERT_EQ(made.launches.size(), 1U);
  const PlannedLaunch& launch = made.launches[0];
  EXPECT_EQ(launch.name_expression, "k<32, float>");
  EXPECT_EQ(launch.grid, (std::array<unsigned, 3>{6, 2, 1}));
  EXPECT_EQ(launch.block, (std::array<unsigned, 3>{32, 1, 1}));
  EXPECT_EQ(launch.cluster, (std::array<unsigned, 3>{2, 1, 1}));
  EXPECT_EQ(launch.shared_bytes, 128U);
  EXPECT_TRUE(launch.cooperative);
  ASSERT_EQ(launch.arguments.size(), 11U);
  auto pointer = [&](std::size_t i, std::size_t buffer, std::int64_t offset) {
    EXPECT_EQ(launch.arguments[i].kind, Kind::pointer) << i;
    EXPECT_EQ(launch.arguments[i].buffer, buffer) << i;
    EXPECT_EQ(launch.arguments[i].integer, offset) << i;
  };
  pointer(0, 0, 0);
  pointer(1, 1, 64 * 4);
  pointer(2, 2, 8);
  EXPECT_EQ(launch.arguments[3].kind, Kind::tensormap);
  EXPECT_EQ(launch.arguments[4].kind, Kind::real);
  EXPECT_EQ(launch.arguments[4].real, 1e-5);
  std::vector<std::int64_t> integers;
  for (std::size_t i : {5U, 6U, 7U, 9U, 10U}) {
    EXPECT_EQ(launch.arguments[i].kind, Kind::integer) << i;
    integers.push_back(launch.arguments[i].integer);
  }
  EXPECT_EQ(integers, (std::vector<std::int64_t>{6, 32, 63, 7, 2}));
  EXPECT_EQ(launch.arguments[8].real, 2.5);
}

TEST_F(LaunchPlanTest, holds_to_the_limits_of_the_device) {
  EXPECT_EQ(refusal_of_launch("k<<<rows - 6, 1>>>()"), "specgen:launch: grid is 0 blocks wide");
  EXPECT_EQ(refusal_of_launch("k<<<(1, -rows), 1>>>()"), "specgen:launch: grid is -6 blocks high");
  EXPECT_EQ(refusal_of_launch("k<<<(1, 65535), 1>>>()"), "accepted");
  EXPECT_EQ(refusal_of_launch("k<<<(1, 65536), 1>>>()"),
            "specgen:launch: grid is 65536 blocks high; the limit is 65535");
  EXPECT_EQ(refusal_of_launch("k<<<2147483647, 1>>>()"), "accepted");
  EXPECT_EQ(refusal_of_launch("k<<<2147483648, 1>>>()"),
            "specgen:launch: grid is 2147483648 blocks wide; the limit is 2147483647");
  EXPECT_EQ(refusal_of_launch("k<<<1, 0>>>()"), "specgen:launch: block is 0 threads wide");
  EXPECT_EQ(refusal_of_launch("k<<<1, (1,1,65)>>>()"),
            "specgen:launch: block is 65 threads deep; the limit is 64");
  EXPECT_EQ(refusal_of_launch("k<<<1, (32, 32)>>>()"), "accepted");
  EXPECT_EQ(refusal_of_launch("k<<<1, (32, 33)>>>()"),
            "specgen:launch: a block has 1056 threads; the limit is 1024");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1, 231424>>>()"), "accepted");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1, 231425>>>()"),
            "specgen:launch: a block has 231425 bytes of shared memory; the limit is 231424");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1, -1>>>()"),
            "specgen:launch: a block has -1 bytes of shared memory; the limit is 231424");
  EXPECT_EQ(refusal_of_launch("k<<<rows, 1, 0, cluster=(4,1,1)>>>()"),
            "specgen:launch: the cluster (4, 1, 1) does not divide the grid (6, 1, 1)");
  EXPECT_EQ(refusal_of_launch("k<<<16, 1, 0, cluster=16>>>()"),
            "specgen:launch: cluster is 16 blocks wide; the limit is 8");
  EXPECT_EQ(refusal_of_launch("k<<<(4,4), 1, 0, cluster=(4,4)>>>()"),
            "specgen:launch: a cluster has 16 blocks; the limit is 8");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1, 9223372036854775807 + rows>>>()").substr(0, 15),
            "specgen:launch:");
}

TEST_F(LaunchPlanTest, keeps_pointers_inside_of_their_tensor) {
  EXPECT_EQ(refusal_of_launch("k<<<1,1>>>(x + rows*cols)"), "accepted");
  EXPECT_EQ(refusal_of_launch("k<<<1,1>>>(x + rows*cols + 1)"),
            "specgen:launch: 'x + 385' is outside the tensor: it has 384 elements");
  EXPECT_EQ(refusal_of_launch("k<<<1,1>>>(x + 0 - 1)"),
            "specgen:launch: 'x + -1' is outside the tensor: it has 384 elements");
}

TEST_F(LaunchPlanTest, names_what_is_not_known_or_in_the_wrong_place) {
  EXPECT_EQ(refusal_of_launch("k<<<rovs, 1>>>()"),
            "specgen:launch: 'rovs' is not known; did you mean 'rows'?");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1>>>(epz)"),
            "specgen:launch: 'epz' is not known; did you mean 'eps'?");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1>>>(4*rows + x)"),
            "specgen:launch: 'x' is a tensor: write it first and alone, as in 'x + offset'");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1>>>(2*eps)"),
            "specgen:launch: 'eps' is a scalar of the task: it can only be an argument by itself");
  EXPECT_EQ(refusal_of_launch("k<<<1, 1>>>(9223372036854775807 - 1, rows + 9223372036854775807)"),
            "specgen:launch: 'rows + 9223372036854775807' is too large");
  EXPECT_EQ(refusal_of_launch("k<rows><<<1, 1>>>()"),
            "specgen:launch: 'rows' is an axis: template arguments can use tunables, the kernel is "
            "compiled once");
  EXPECT_EQ(refusal("// specgen:zero x\n// specgen:launch k<<<1,1>>>()"),
            "specgen:zero: 'x' is an input: it cannot be written");
  EXPECT_EQ(refusal("// specgen:zero z\n// specgen:launch k<<<1,1>>>()"),
            "specgen:zero: 'z' is not known");
  EXPECT_EQ(refusal("// specgen:tune rows = 1\n// specgen:launch k<<<1,1>>>()"),
            "specgen:tune: 'rows' is a name of the task: take another");
  EXPECT_EQ(refusal("// specgen:scratch y f32[1]\n// specgen:launch k<<<1,1>>>()"),
            "specgen:scratch: 'y' is a name of the task: take another");
  EXPECT_EQ(refusal("// specgen:tune A = 1"), "there is no specgen:launch line");
}

TEST_F(LaunchPlanTest, bounds_scratch_one_by_one_and_together) {
  limits_.scratch_bytes = 4096;
  std::string launch = "\n// specgen:launch k<<<1,1>>>()";
  EXPECT_EQ(refusal("// specgen:scratch s f32[1024]" + launch), "accepted");
  EXPECT_EQ(refusal("// specgen:scratch s f32[1025]" + launch),
            "specgen:scratch: 's' has 4.00 KiB; the limit is 4.00 KiB");
  EXPECT_EQ(refusal("// specgen:scratch s u8[4000]\n// specgen:scratch t u8[97]" + launch),
            "specgen:scratch: all scratch together has 4.00 KiB; the limit is 4.00 KiB");
  EXPECT_EQ(refusal("// specgen:scratch s f32[4294967296, 4294967296, 2]" + launch),
            "specgen:scratch: 's' has more bytes than can be counted; the limit is 4.00 KiB");
  EXPECT_EQ(refusal("// specgen:scratch s f32[rows - 7]" + launch),
            "specgen:scratch: 's' has a negative size: rows - 7 is -1");
  EXPECT_EQ(refusal("// specgen:scratch 64" + launch),
            "specgen:scratch: it has no name, so no kernel can get it: NAME DTYPE[dimensions]");
  EXPECT_EQ(plan("// specgen:scratch s f64[rows - 6]" + launch).scratch_bytes,
            std::vector<std::size_t>{8});
}

TEST_F(LaunchPlanTest, checks_tensormaps_by_the_rules_of_the_driver) {
  auto map = [&](std::string_view tiled) {
    return refusal("// specgen:tensormap t = tiled(" + std::string(tiled) +
                   ")\n// specgen:launch k<<<1,1>>>(t)");
  };
  EXPECT_EQ(map("x, box(1, 64), swizzle 128"), "accepted");
  EXPECT_EQ(map("x, box(1, 64), swizzle 64"),
            "specgen:tensormap: a tile row has 128 bytes, more than swizzle 64");
  EXPECT_EQ(map("x, box(64)"), "specgen:tensormap: box has 1 dimensions, 'x' has 2");
  EXPECT_EQ(map("x, box(1, 4)"),
            "specgen:tensormap: a tile row has 8 bytes; it must be a multiple of 16");
  EXPECT_EQ(map("x, box(1, 257)"),
            "specgen:tensormap: box has a side of 257; 1 to 256 is possible");
  EXPECT_EQ(map("z, box(1, 4)"), "specgen:tensormap: 'z' is not known");
  at_.inputs[0].shape = {6, 63};
  EXPECT_EQ(map("x, box(1, 64)"),
            "specgen:tensormap: a row of 'x' has 126 bytes; a tensormap needs a multiple of 16");
}

TEST_F(LaunchPlanTest, reveals_no_number_of_a_hidden_case) {
  at_.hidden = true;
  at_.hidden_class = "odd";
  at_.axes["rows"] = 77777;
  std::vector<std::string> messages{
      refusal_of_launch("k<<<(1, rows), 1>>>()"),
      refusal_of_launch("k<<<1, rows>>>()"),
      refusal_of_launch("k<<<1, 1, 10*rows>>>()"),
      refusal_of_launch("k<<<1, 1>>>(x + rows)"),
      refusal_of_launch("k<<<rows, 1, 0, cluster=2>>>()"),
      refusal_of_launch("k<<<1, 1>>>(1000000000*1000000000*rows)"),
      refusal("// specgen:scratch s f32[rows, rows]\n// specgen:launch k<<<1,1>>>()"),
      refusal("// specgen:scratch s f32[0-rows]\n// specgen:launch k<<<1,1>>>()")};
  for (const std::string& text : messages) {
    EXPECT_TRUE(text.contains("in a hidden case (odd)")) << text;
    EXPECT_FALSE(text.contains("7777")) << text;
  }
  EXPECT_EQ(messages[0],
            "specgen:launch: in a hidden case (odd) grid 'rows' is outside its limits");
}

TEST_F(LaunchPlanTest, puts_tunables_into_the_names_of_kernels) {
  auto directives = parse_directives(R"(// specgen:tune B = 4, 8
// specgen:launch k<B, 2*B+1, float, true, Tile<B, kB>, kWarps><<<1,1>>>()
// specgen:launch k<B, 2*B+1, float, true, Tile<B, kB>, kWarps><<<2,1>>>(x)
// specgen:launch plain<<<1,1>>>())");
  ASSERT_TRUE(directives);
  EXPECT_EQ(*name_expressions(*directives, {{"B", 8}}),
            (std::vector<std::string>{"k<8, 17, float, true, Tile<8, kB>, kWarps>", "plain"}));
  auto zero = parse_directives("// specgen:tune B = 0\n// specgen:launch k<4/B><<<1,1>>>()");
  EXPECT_EQ(name_expressions(*zero, {{"B", 0}}).error().line, 2);
}

TEST_F(LaunchPlanTest, of_a_cpu_is_one_scratch_buffer) {
  EXPECT_EQ(cpu("int x;"), "0");
  EXPECT_EQ(cpu("// specgen:tune B = 3\n// specgen:scratch B*cols"), "192");
  EXPECT_EQ(cpu("// specgen:scratch s f64[rows, 2]"), "96");
  EXPECT_EQ(cpu("// specgen:scratch 4\n// specgen:scratch s f64[rows, 2]"),
            "specgen:scratch: a CPU candidate has one scratch buffer: add the sizes up");
  EXPECT_EQ(cpu("// specgen:launch k<<<1,1>>>()"), "specgen:launch is for CUDA candidates");
  EXPECT_EQ(cpu("// specgen:zero y"), "specgen:zero is for CUDA candidates");
  EXPECT_EQ(cpu("// specgen:scratch 0 - 1"),
            "specgen:scratch: it has a negative size: 0 - 1 is -1");
}

TEST_F(LaunchPlanTest, comes_back_from_json_as_it_went) {
  task_.scalars.push_back({"low", -std::numeric_limits<double>::infinity()});
  LaunchPlan made = plan(R"(// specgen:scratch s f64[rows, 2]
// specgen:zero s
// specgen:tensormap t = tiled(x, box(2, 8), swizzle 32)
// specgen:launch k<<<(rows, 2), 64, 128, cluster=(2,1,1), cooperative>>>(x + 3, s, t, eps, low, 0 - rows, 2.0)
// specgen:launch second<<<1, 1>>>())");
  Json json = to_json(made);
  auto back = launch_plan_from_json(*parse_json(compact_json(json)));
  ASSERT_TRUE(back) << back.error().summary();
  EXPECT_EQ(to_json(*back), json);
  EXPECT_EQ(back->launches[0].arguments[0].integer, 6);
  EXPECT_EQ(back->launches[0].arguments[5].integer, -6);
  EXPECT_EQ(back->launches[0].arguments[4].real, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(back->launches[0].arguments[6].kind, Kind::real);
  EXPECT_EQ(back->tensormaps[0].swizzle, 32);
}

TEST_F(LaunchPlanTest, refuses_json_that_is_not_a_plan) {
  Json good = to_json(plan(R"(// specgen:scratch s f64[rows]
// specgen:tensormap t = tiled(x, box(2, 8), swizzle 32)
// specgen:launch k<<<rows, 64>>>(x, t, 1, 2.5))"));
  ASSERT_TRUE(launch_plan_from_json(good));
  auto with = [&](std::string_view pointer, Json value) {
    Json changed = good;
    boost::json::error_code error;
    Json* place = changed.find_pointer(pointer, error);
    EXPECT_TRUE(place) << pointer;
    if (place) *place = std::move(value);
    return launch_plan_from_json(changed).has_value();
  };
  EXPECT_TRUE(with("/launches/0/grid/0", 5));
  EXPECT_FALSE(with("/launches/0/grid/0", 0));
  EXPECT_FALSE(with("/launches/0/grid/0", -1));
  EXPECT_FALSE(with("/launches/0/grid/0", std::int64_t{1} << 32));
  EXPECT_FALSE(with("/launches/0/grid/0", 1.5));
  EXPECT_FALSE(with("/launches/0/grid", boost::json::array{1, 1}));
  EXPECT_FALSE(with("/launches/0/cluster/0", 2));
  EXPECT_FALSE(with("/launches/0/kernel", ""));
  EXPECT_FALSE(with("/launches/0/kernel", boost::json::string(5000, 'k')));
  EXPECT_FALSE(with("/launches/0/cooperative", 1));
  EXPECT_FALSE(with("/launches/0/shared_bytes", -1));
  EXPECT_FALSE(with("/launches/0/arguments/0/pointer", -1));
  EXPECT_FALSE(with("/launches/0/arguments/0/offset", -8));
  EXPECT_FALSE(with("/launches/0/arguments/1/tensormap", 1));
  EXPECT_FALSE(with("/launches/0/arguments/2", nullptr));
  EXPECT_FALSE(with("/launches/0/arguments/3/real", "1.0"));
  EXPECT_FALSE(with("/launches", boost::json::array{}));
  EXPECT_FALSE(with("/launches", boost::json::array(65, good)));
  EXPECT_FALSE(with("/scratch_bytes/0", 0));
  EXPECT_FALSE(with("/scratch_bytes", "many"));
  EXPECT_FALSE(with("/tensormaps/0/dtype", "f33"));
  EXPECT_FALSE(with("/tensormaps/0/swizzle", 33));
  EXPECT_FALSE(with("/tensormaps/0/box", boost::json::array{1}));
  EXPECT_FALSE(launch_plan_from_json(Json("plan")));
  EXPECT_FALSE(launch_plan_from_json(Json(boost::json::object{})));
}

}  // namespace
}  // namespace specgen
