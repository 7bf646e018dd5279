#include "evaluate/node/device_list.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using Names = std::vector<std::string>;
const std::vector<int> kCores{0, 1, 2, 3, 4, 5, 6, 7};

HostReport host_with_gpus(int gpus) {
  HostReport host;
  host.machine.cpu = "fake";
  host.tools.compilers.push_back({.name = "g++", .found = true, .works = true});
  host.cuda.driver.works = gpus > 0;
  host.cuda.nvrtc.works = gpus > 0;
  host.cuda.architectures = {90};
  for (int i = 0; i < gpus; ++i) {
    host.cuda.gpus.push_back({.index = i, .name = "a GPU", .capability_major = 9});
  }
  return host;
}

Result<Names> chosen(const HostReport& host, std::string_view list) {
  Names names;
  for (const NodeDevice& device : TRY(choose_devices(host, TRY(parse_device_list(list)), kCores))) {
    names.push_back(device.id);
  }
  return names;
}

TEST(DeviceList, auto_is_the_cores_and_every_gpu) {
  EXPECT_EQ(chosen(host_with_gpus(0), "auto").value(), (Names{"cpu:0"}));
  EXPECT_EQ(chosen(host_with_gpus(2), "auto").value(), (Names{"cpu:0", "cuda:0", "cuda:1"}));
}

TEST(DeviceList, keeps_the_order_in_which_devices_are_named) {
  EXPECT_EQ(chosen(host_with_gpus(2), "cuda:1, cpu:0").value(), (Names{"cuda:1", "cpu:0"}));
}

TEST(DeviceList, sets_of_cores_are_devices_of_their_own) {
  EXPECT_EQ(chosen(host_with_gpus(0), "cpu:1-3,cpu:4-6").value(), (Names{"cpu:1-3", "cpu:4-6"}));
}

TEST(DeviceList, no_two_devices_share_a_core) {
  for (std::string_view list : {"cpu:0,cpu:1-1", "cpu:1-3,cpu:3-4"}) {
    auto devices = chosen(host_with_gpus(0), list);
    ASSERT_FALSE(devices.has_value()) << list;
    EXPECT_EQ(devices.error().exit_code(), ExitCode::usage) << list;
    EXPECT_NE(devices.error().context.find("share core"), std::string::npos) << list;
  }
}

TEST(DeviceList, what_is_badly_written_is_named_and_is_the_users_fault) {
  for (auto [list, word] : std::vector<std::pair<std::string_view, std::string>>{
           {"", "''"},
           {"cpu", "'cpu'"},
           {"gpu:0", "'gpu:0'"},
           {"cpu:0,,cuda:0", "''"},
           {"cuda:x", "'cuda:x'"},
           {"cuda:0-3", "'cuda:0-3'"},
           {"cuda:-1", "'cuda:-1'"},
           {"cpu:1-", "'cpu:1-'"},
           {"cpu:0 cpu:1", "'cpu:0 cpu:1'"},
           {"cuda:9999999", "'cuda:9999999'"},
           {"cpu:0,cpu:0", "'cpu:0' is named twice"},
           {"auto,cpu:0", "'auto'"}}) {
    auto names = parse_device_list(list);
    ASSERT_FALSE(names.has_value()) << list;
    EXPECT_EQ(names.error().exit_code(), ExitCode::usage) << list;
    EXPECT_NE(names.error().context.find(word), std::string::npos) << names.error().context;
  }
}

TEST(DeviceList, what_this_host_lacks_is_named_and_is_the_hosts_fault) {
  for (std::string_view list : {"cuda:2", "cpu:0,cuda:7", "cpu:1", "cpu:8-9", "cpu:6-8"}) {
    auto devices = chosen(host_with_gpus(2), list);
    ASSERT_FALSE(devices.has_value()) << list;
    EXPECT_EQ(devices.error().exit_code(), ExitCode::environment) << list;
  }
  auto near = chosen(host_with_gpus(2), "cuda:2");
  EXPECT_NE(near.error().context.find("'cuda:2' is not usable here"), std::string::npos);
  EXPECT_FALSE(choose_devices(HostReport(), {}, kCores).has_value());
}

TEST(DeviceList, says_which_cores_are_taken) {
  auto devices = choose_devices(host_with_gpus(1), {"cpu:1-2", "cuda:0", "cpu:5-5"}, kCores);
  EXPECT_EQ(cores_of_devices(devices.value(), kCores), (std::vector<int>{1, 2, 5}));
}

}  // namespace
}  // namespace specgen
