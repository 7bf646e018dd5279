#include "cli/diagnosis.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/fake_hosts.h"
#include "cli/version.h"

namespace specgen {
namespace {

Diagnosis diagnosis_of(HostReport host) {
  Diagnosis diagnosis;
  diagnosis.checks = checks_of(host, GiB(2));
  diagnosis.host = std::move(host);
  return diagnosis;
}

TEST(DoctorText, of_a_laptop_reads_well) {
  std::string text = doctor_text(diagnosis_of(laptop()), false);
  EXPECT_EQ(text.substr(0, text.find("  ✗ NVRTC")),
            "CPU kernels\n"
            "  ✓ C++ compiler       g++ 13.3.0, clang++ 19.1.1 · for compiling CPU kernels and the "
            "references of tasks\n"
            "\n"
            "CUDA kernels\n"
            "  ✗ driver             no libcuda.so.1, and no NVIDIA GPU on the PCI bus · for "
            "running CUDA kernels\n"
            "                       fix: use a host with an NVIDIA GPU\n"
            "  ✗ GPUs               none · for running CUDA kernels\n"
            "                       fix: use a host with an NVIDIA GPU\n");
  EXPECT_TRUE(text.ends_with("\n\nready: CPU kernels; no GPU found; sandbox up to L2\n"));
}

TEST(DoctorText, marks_what_is_limited) {
  std::string text = doctor_text(diagnosis_of(laptop()), false);
  EXPECT_NE(text.find("  ! control groups     no group can be made · for "), std::string::npos)
      << text;
}

TEST(DoctorText, has_colour_only_when_asked) {
  EXPECT_EQ(doctor_text(diagnosis_of(laptop()), false).find('\x1b'), std::string::npos);
  std::string coloured = doctor_text(diagnosis_of(laptop()), true);
  EXPECT_NE(coloured.find("\x1b[32m✓\x1b[0m"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[33m!\x1b[0m"), std::string::npos);
  EXPECT_NE(coloured.find("\x1b[31m✗\x1b[0m"), std::string::npos);
}

TEST(DoctorText, names_the_settings_file_if_there_was_one) {
  Diagnosis diagnosis = diagnosis_of(gpu_server());
  EXPECT_EQ(doctor_text(diagnosis, false).find("settings:"), std::string::npos);
  diagnosis.settings = "specgen.toml";
  EXPECT_NE(doctor_text(diagnosis, false).find("\nsettings: specgen.toml\n"), std::string::npos);
}

TEST(DoctorText, does_not_let_a_tool_fill_the_screen) {
  Diagnosis diagnosis = diagnosis_of(laptop());
  diagnosis.checks[0].detail = "much text" + std::string(300, 'x') + " more";
  std::string text = doctor_text(diagnosis, false);
  EXPECT_NE(text.find("  much … · for "), std::string::npos) << text;
}

TEST(DoctorJson, is_one_document_of_its_schema) {
  Diagnosis diagnosis = diagnosis_of(gpu_server());
  auto parsed = parse_json(doctor_json(diagnosis));
  ASSERT_TRUE(parsed.has_value());
  const auto& json = parsed->get_object();
  EXPECT_EQ(json.at("schema"), "specgen.doctor");
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("specgen_version"), Json(version()));
  EXPECT_EQ(json.at("ready"),
            (boost::json::object{{"cpu", true}, {"cuda", true}, {"pytorch", true}}));
  EXPECT_EQ(json.at("sandbox").at("level_possible"), "L3");
  EXPECT_EQ(json.at("sandbox").at("cgroup"), "v2");
  EXPECT_EQ(json.at("sandbox").at("landlock_abi"), 7);
  EXPECT_EQ(json.at("gpus").as_array().size(), 1U);
  EXPECT_EQ(json.at("gpus").at(0).at("compute_capability"), "9.0");
  EXPECT_EQ(json.at("gpus").at(0).at("memory_bytes"), GiB(140).count);
  EXPECT_EQ(json.at("checks").as_array().size(), diagnosis.checks.size());
  EXPECT_EQ(json.at("checks").at(0).at("state"), "ok");
  EXPECT_TRUE(json.at("settings").is_null());
  EXPECT_EQ(json.at("runs").at("folder"), "specgen-runs");
}

TEST(DoctorJson, has_null_for_what_there_is_not) {
  auto parsed = parse_json(doctor_json(diagnosis_of(HostReport{})));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(parsed->at("sandbox").at("cgroup").is_null());
  EXPECT_TRUE(parsed->at("sandbox").at("landlock_abi").is_null());
  EXPECT_EQ(parsed->at("sandbox").at("level_possible"), "L0");
}

TEST(NodeCheckJson, lists_the_devices_that_a_controller_may_use) {
  HostReport host = gpu_server();
  host.cuda.gpus.push_back({.index = 1, .name = "Future", .capability_major = 13});
  auto parsed = parse_json(node_check_json(diagnosis_of(host)));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->at("schema"), "specgen.node-check");
  const auto& devices = parsed->at("devices").as_array();
  ASSERT_EQ(devices.size(), 3U);
  EXPECT_EQ(devices[0].at("id"), "cpu:0");
  EXPECT_EQ(devices[0].at("usable"), true);
  EXPECT_EQ(devices[1].at("id"), "cuda:0");
  EXPECT_EQ(devices[1].at("usable"), true);
  EXPECT_EQ(devices[2].at("usable"), false) << "NVRTC cannot compile for it";
  EXPECT_EQ(parsed->at("nvrtc").at("architectures").as_array().size(), 4U);
}

TEST(DoctorExitCode, is_0_if_one_backend_can_work) {
  EXPECT_EQ(doctor_exit_code(laptop()), ExitCode::done);
  HostReport no_compiler = gpu_server();
  no_compiler.tools.compilers.clear();
  EXPECT_EQ(doctor_exit_code(no_compiler), ExitCode::done);
  no_compiler.cuda.gpus.clear();
  EXPECT_EQ(doctor_exit_code(no_compiler), ExitCode::environment);
}

}  // namespace
}  // namespace specgen
