#include "cli/node/node_options.h"

#include <gtest/gtest.h>

#include "cli/version.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

std::string complaint(const Arguments& arguments) {
  auto parsed = parse_node(arguments);
  if (parsed) {
    ADD_FAILURE() << "the command line was accepted";
    return {};
  }
  EXPECT_EQ(parsed.error().exit_code(), ExitCode::usage);
  return parsed.error().context;
}

template <class Request>
Request request_of(const Arguments& arguments) {
  auto parsed = parse_node(arguments);
  EXPECT_TRUE(parsed) << parsed.error().text();
  auto* request = parsed ? std::get_if<Request>(&*parsed) : nullptr;
  EXPECT_TRUE(request);
  return request ? *request : Request{};
}

TEST(NodeOptions, check_has_its_flags) {
  auto check = request_of<CheckNode>({"--check", "--json", "--time-limit=3s"});
  EXPECT_TRUE(check.json);
  EXPECT_EQ(check.time_limit, 3s);
  EXPECT_EQ(complaint({"--json"}), "--json requires --check");
  EXPECT_EQ(complaint({"--chek"}), "unknown flag '--chek'; did you mean '--check'?");
  EXPECT_EQ(complaint({"doctor"}), "unexpected argument 'doctor'");
}

TEST(NodeOptions, without_arguments_every_device_is_served) {
  auto serve = request_of<ServeNode>({});
  EXPECT_EQ(serve.devices, Arguments{});
  EXPECT_FALSE(serve.kv.has_value());
}

TEST(NodeOptions, devices_are_a_list) {
  for (const Arguments& arguments :
       {Arguments{"--devices", "cpu:0,cuda:1"}, Arguments{"--devices=cpu:0,cuda:1"}}) {
    EXPECT_EQ(request_of<ServeNode>(arguments).devices, (Arguments{"cpu:0", "cuda:1"}));
  }
  EXPECT_EQ(complaint({"--devices"}), "'--devices' needs a value");
  EXPECT_EQ(complaint({"--device", "cpu:0"}), "unknown flag '--device'; did you mean '--devices'?");
  EXPECT_EQ(complaint({"--devices", "cpu:0", "cuda:0"}), "unexpected argument 'cuda:0'");
}

TEST(NodeOptions, of_the_kv_cache) {
  auto kv = request_of<ServeNode>({"--kv", "16GiB,device=8GiB", "--kv-listen", "unix:/run/kv.sock",
                                   "--kv-prefill", "32000", "--kv-bytes-per-token=131072",
                                   "--kv-quota", "1GiB", "--kv-lanes", "4"})
                .kv;
  ASSERT_TRUE(kv.has_value());
  EXPECT_EQ(kv->host, GiB(16));
  EXPECT_EQ(kv->device, GiB(8));
  EXPECT_EQ(kv->quota, GiB(1));
  EXPECT_EQ(kv->job_memory, GiB(2));
  EXPECT_EQ(kv->listen, "unix:/run/kv.sock");
  EXPECT_EQ(kv->prefill_tokens_per_s, 32000);
  EXPECT_EQ(kv->bytes_per_token, 131072);
  EXPECT_EQ(kv->threads, 4u);
  EXPECT_FALSE(kv->is_open);
  EXPECT_EQ(request_of<ServeNode>({"--kv", "1GiB"}).kv->listen, "127.0.0.1:6380");
  EXPECT_EQ(complaint({"--kv-open"}), "--kv-open requires --kv");
  EXPECT_EQ(complaint({"--kv", "1GiB", "--kv-prefill", "-1"}),
            "--kv-prefill: '-1' is not a number above 0");
  EXPECT_EQ(complaint({"--kv", "1GiB,2GiB"}), "--kv: '2GiB' is not device=SIZE");
  EXPECT_EQ(complaint({"--kv", "lots"}), "--kv: 'lots' is not a size, such as 16GiB");
}

TEST(NodeOptions, version_is_one_line) {
  EXPECT_EQ(request_of<PrintNodeHelp>({"--version"}).text,
            "specgen-node " + std::string(version()) + "\n");
}

}  // namespace
}  // namespace specgen
