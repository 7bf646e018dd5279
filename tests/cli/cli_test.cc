// Both programs as a user runs them: exit codes, which stream has what, and hosts that lack things
// or misbehave.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <filesystem>

#include "base/environment.h"
#include "base/file.h"
#include "base/json.h"
#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Arguments = std::vector<std::string>;

class Programs : public testing::Test {
 protected:
  Programs() {
    // Not the settings of the user who runs this test.
    set("HOME", (folder_.path() / "home").string());
    unset("XDG_CONFIG_HOME");
  }

  void set(const std::string& name, const std::string& value) {
    unset(name);
    environment_.push_back(name + "=" + value);
  }
  void unset(const std::string& name) {
    std::erase_if(environment_, [&](const std::string& e) { return e.starts_with(name + "="); });
  }
  void write(const fs::path& path, std::string_view text) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(write_file_durably(path, text).has_value());
  }

  Command command(const char* program, Arguments arguments) {
    arguments.insert(arguments.begin(), program);
    return {.argv = std::move(arguments),
            .environment = environment_,
            .folder = folder_.path(),
            .time_limit = 100s};
  }
  Finished run(const char* program, Arguments arguments) {
    auto finished = fixture_.run(fixture_.processes.run(command(program, std::move(arguments))));
    if (finished) return std::move(*finished);
    ADD_FAILURE() << finished.error().text();
    return {};
  }
  Finished specgen(Arguments arguments) { return run(SPECGEN_BINARY, std::move(arguments)); }
  Finished node(Arguments arguments) { return run(SPECGEN_NODE_BINARY, std::move(arguments)); }

  boost::json::object doctor_json(Arguments more = {}) {
    Arguments arguments{"doctor", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Finished finished = specgen(std::move(arguments));
    auto json = parse_json(finished.output);
    if (!json || !json->is_object()) {
      ADD_FAILURE() << "no JSON: " << finished.output << finished.error_output;
      return {};
    }
    exit_code_ = finished.exit.code;
    return json->get_object();
  }
  static boost::json::object check(const boost::json::object& json, std::string_view id) {
    for (const Json& each : json.at("checks").as_array()) {
      if (each.at("id") == Json(id)) return each.get_object();
    }
    ADD_FAILURE() << "there is no check " << id;
    return {{"state", ""}, {"detail", ""}, {"fix", ""}};
  }
  static std::string text(const boost::json::object& object, std::string_view key) {
    return std::string(object.at(key).as_string());
  }

  FakeTools folder_;
  ToolFixture fixture_;
  std::vector<std::string> environment_ = whole_environment();
  int exit_code_ = -1;
};

TEST_F(Programs, print_their_version_on_standard_output) {
  Finished finished = specgen({"--version"});
  EXPECT_EQ(finished.exit.code, 0);
  EXPECT_TRUE(finished.output.starts_with("specgen ")) << finished.output;
  EXPECT_TRUE(node({"--version"}).output.starts_with("specgen-node "));
}

TEST_F(Programs, specgen_without_arguments_prints_help_on_standard_error_and_exits_2) {
  Finished finished = specgen({});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_EQ(finished.output, "");
  EXPECT_NE(finished.error_output.find("usage: "), std::string::npos);
}

TEST_F(Programs, the_node_without_arguments_serves_and_ends_with_its_standard_input) {
  Finished finished = node({});
  if (finished.exit.code == 3) {
    EXPECT_NE(finished.error_output.find("error E604"), std::string::npos);
    GTEST_SKIP() << "no device of this host is usable";
  }
  EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
  EXPECT_EQ(finished.error_output, "");
  EXPECT_EQ(finished.output.substr(4, 17), R"({"event":"hello",)") << finished.output;
}

TEST_F(Programs, the_node_does_not_serve_a_terminal) {
  int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  Fd owned(terminal);
  ASSERT_TRUE(::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  Finished finished =
      run("/bin/sh", {"-c", "exec \"$0\" < \"$1\"", SPECGEN_NODE_BINARY, ::ptsname(terminal)});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_EQ(finished.output, "");
  EXPECT_TRUE(finished.error_output.contains("standard input is a terminal"))
      << finished.error_output;
}

TEST_F(Programs, the_node_says_what_it_needs_where_no_controller_is_connected) {
  for (const auto& [redirection, problem] :
       {std::pair{"< /dev/null", "standard input is a file or device"},
        std::pair{"> output", "standard output is a file or device"},
        std::pair{"> /dev/null", "standard output is a file or device"}}) {
    std::string script = std::string("exec \"$0\" ") + redirection;
    Finished finished = run("/bin/sh", {"-c", script, SPECGEN_NODE_BINARY});
    EXPECT_EQ(finished.exit.code, 2) << redirection;
    EXPECT_TRUE(finished.error_output.contains(problem)) << redirection << finished.error_output;
    EXPECT_TRUE(finished.error_output.contains("a pipe or socket")) << finished.error_output;
  }
}

TEST_F(Programs, optimize_refuses_a_task_that_the_author_does_not_know_before_anything_runs) {
  write(folder_.path() / "relu.py", "import torch\n");
  Finished finished = specgen({"optimize", "relu.py", "--model", "author"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_TRUE(finished.error_output.contains("the author does not know the task 'relu'"))
      << finished.error_output;
  EXPECT_FALSE(fs::exists(folder_.path() / "specgen-runs"));
}

TEST_F(Programs, optimize_refuses_a_cost_budget_without_a_price) {
  Finished finished = specgen(
      {"optimize", "softmax", "--model", "openai:m@http://127.0.0.1:9/v1", "--cost-budget", "2"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_TRUE(finished.error_output.contains("prices = {prompt")) << finished.error_output;
}

// The port is closed: asking the model first would be another error.
TEST_F(Programs, optimize_finds_out_that_pytorch_is_missing_before_the_model_is_called) {
  std::string python = folder_.add(
      "my-python", R"(echo '{"executable": "/opt/my-python", "torch": false, "folders": []}')");
  write(folder_.path() / "specgen.toml", "[tools]\npython = \"" + python + "\"\n");
  write(folder_.path() / "relu.py", "import torch\n");
  Finished finished = specgen({"optimize", "relu.py", "--model", "openai:m@http://127.0.0.1:9/v1"});
  EXPECT_EQ(finished.exit.code, 3) << finished.error_output;
  EXPECT_TRUE(finished.error_output.contains("/opt/my-python has no torch"))
      << finished.error_output;
  EXPECT_TRUE(finished.error_output.contains("[tools] python")) << finished.error_output;
  EXPECT_FALSE(fs::exists(folder_.path() / "specgen-runs"));
}

TEST_F(Programs, a_task_that_ships_is_known_by_its_name_in_every_folder) {
  Finished finished = specgen({"tasks", "softmax", "--json"});
  EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
  EXPECT_TRUE(finished.output.contains("\"name\": \"softmax\"")) << finished.output;
  // The task is found: what is missing is the candidate, or the device.
  EXPECT_TRUE(specgen({"eval", "softmax", "none.cc"}).error_output.contains("none.cc"));
  for (const char* command : {"optimize", "probe"}) {
    finished = specgen({command, "tasks/softmax", "--devices", "cuda:77"});
    EXPECT_TRUE(finished.error_output.contains("cuda:77")) << finished.error_output;
  }
}

TEST_F(Programs, help_that_was_asked_for_is_no_error) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"help"}, Arguments{"doctor", "--help"},
        Arguments{"eval", "--help"}, Arguments{"help", "tasks"}, Arguments{"new", "-h"}}) {
    Finished finished = specgen(arguments);
    EXPECT_EQ(finished.exit.code, 0);
    EXPECT_NE(finished.output.find("usage: specgen"), std::string::npos);
    EXPECT_EQ(finished.error_output, "");
  }
}

TEST_F(Programs, answer_a_misspelt_argument_with_the_nearest) {
  Finished command = specgen({"docter"});
  EXPECT_EQ(command.exit.code, 2);
  EXPECT_EQ(command.output, "");
  EXPECT_NE(command.error_output.find("error E101"), std::string::npos);
  EXPECT_NE(command.error_output.find("did you mean 'doctor'?"), std::string::npos);
  EXPECT_NE(command.error_output.find("what to do: "), std::string::npos);
  Finished flag = specgen({"doctor", "--jsno"});
  EXPECT_EQ(flag.exit.code, 2);
  EXPECT_NE(flag.error_output.find("did you mean '--json'?"), std::string::npos);
  EXPECT_NE(node({"--chck"}).error_output.find("did you mean '--check'?"), std::string::npos);
}

TEST_F(Programs, doctor_prints_one_json_document_and_nothing_else) {
  Finished finished = specgen({"doctor", "--json"});
  EXPECT_EQ(finished.error_output, "");
  auto json = parse_json(finished.output);
  ASSERT_TRUE(json.has_value()) << finished.output;
  EXPECT_EQ(json->at("schema"), "specgen.doctor");
  EXPECT_EQ(json->at("checks").as_array().size(), 22U);
  bool ready = json->at("ready").at("cpu").as_bool() || json->at("ready").at("cuda").as_bool();
  EXPECT_EQ(finished.exit.code, ready ? 0 : 3);
}

TEST_F(Programs, doctor_ends_with_what_this_host_can_do) {
  Finished finished = specgen({"doctor"});
  EXPECT_EQ(finished.output.find('\x1b'), std::string::npos) << "colour without a terminal";
  EXPECT_EQ(finished.error_output, "") << "progress without a terminal";
  std::size_t last = finished.output.rfind('\n', finished.output.size() - 2);
  EXPECT_NE(finished.output.find("ready: ", last), std::string::npos) << finished.output;
}

TEST_F(Programs, doctor_finds_no_compiler_where_path_is_empty) {
  set("PATH", (folder_.path() / "nothing").string());
  auto json = doctor_json();
  EXPECT_EQ(text(check(json, "cpu.compiler"), "state"), "missing");
  EXPECT_EQ(text(check(json, "cpu.compiler"), "fix"), "sudo apt install g++");
  EXPECT_EQ(text(check(json, "python.interpreter"), "state"), "missing");
  EXPECT_EQ(json.at("ready").at("cpu"), false);
  EXPECT_EQ(exit_code_, json.at("ready").at("cuda").as_bool() ? 0 : 3);
}

TEST_F(Programs, doctor_cuts_a_tool_that_hangs) {
  folder_.add("g++", "sleep 1000");
  folder_.add("clang++", "sleep 1000");
  folder_.add("bwrap", "sleep 1000");
  set("PATH", folder_.path().string() + ":/usr/bin:/bin");
  Time start = fixture_.loop.now();
  auto json = doctor_json({"--time-limit", "500ms"});
  EXPECT_LT(fixture_.loop.now() - start, 30s);
  EXPECT_EQ(text(check(json, "cpu.compiler"), "state"), "missing");
  EXPECT_EQ(text(check(json, "cpu.compiler"), "detail"),
            "g++: no answer within 500 ms; clang++: no answer within 500 ms");
  EXPECT_EQ(text(check(json, "sandbox.bubblewrap"), "state"), "missing");
}

TEST_F(Programs, doctor_uses_every_key_of_the_settings) {
  std::string compiler = folder_.add("my++", "echo 'my++ 9.8.7'; exit 1");
  std::string python = folder_.add("my-python", "echo 'Python 3.99.1'");
  std::string ncu = folder_.add("my-ncu", "echo 'Version 1999.1.2 (build 3)'");
  write(folder_.path() / "specgen.toml",
        "[tools]\ncompiler = \"" + compiler + "\"\npython = \"" + python + "\"\nncu = \"" + ncu +
            "\"\n[runs]\nfolder = \"elsewhere\"\nmin_free = \"900000TiB\"\n");
  auto json = doctor_json();
  EXPECT_EQ(json.at("settings"), "specgen.toml");
  EXPECT_EQ(text(check(json, "cpu.compiler"), "state"), "missing");
  EXPECT_NE(text(check(json, "cpu.compiler"), "fix").find("[tools] compiler"), std::string::npos);
  EXPECT_TRUE(text(check(json, "python.interpreter"), "detail").starts_with("3.99.1"));
  EXPECT_TRUE(text(check(json, "profiling.ncu"), "detail").starts_with("1999.1.2"));
  EXPECT_EQ(text(check(json, "machine.disk"), "state"), "limited");
  EXPECT_NE(text(check(json, "machine.disk"), "detail").find("elsewhere"), std::string::npos);
}

TEST_F(Programs, doctor_imports_nothing_from_the_working_folder) {
  write(folder_.path() / "triton.py", "__version__ = '6.6.6'\n");
  EXPECT_EQ(text(check(doctor_json(), "python.triton"), "detail").find("6.6.6"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_.path() / "__pycache__"));
}

TEST_F(Programs, settings_are_taken_from_the_nearest_place) {
  fs::path in_config = folder_.path() / "home" / ".config" / "specgen" / "specgen.toml";
  write(in_config, "[runs]\nfolder = \"of-the-user\"\n");
  EXPECT_EQ(doctor_json().at("runs").at("folder"), "of-the-user");
  fs::path xdg = folder_.path() / "xdg";
  write(xdg / "specgen" / "specgen.toml", "[runs]\nfolder = \"of-xdg\"\n");
  set("XDG_CONFIG_HOME", xdg.string());
  EXPECT_EQ(doctor_json().at("runs").at("folder"), "of-xdg");
  write(folder_.path() / "specgen.toml", "[runs]\nfolder = \"of-the-folder\"\n");
  EXPECT_EQ(doctor_json().at("runs").at("folder"), "of-the-folder");
  write(folder_.path() / "other.toml", "[runs]\nfolder = \"asked-for\"\n");
  EXPECT_EQ(doctor_json({"--config", "other.toml"}).at("runs").at("folder"), "asked-for");
}

TEST_F(Programs, an_unknown_key_in_the_settings_is_bad_usage) {
  write(folder_.path() / "specgen.toml", "[runs]\nfolder = \"x\"\nmin_fre = \"1GiB\"\n");
  Finished finished = specgen({"doctor"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_NE(finished.error_output.find("specgen.toml:3: there is no key 'min_fre'; did you mean "
                                       "'min_free'?"),
            std::string::npos)
      << finished.error_output;
}

TEST_F(Programs, a_settings_file_that_is_not_there_is_bad_usage) {
  Finished finished = specgen({"doctor", "--config", "nowhere.toml"});
  EXPECT_EQ(finished.exit.code, 2);
  EXPECT_NE(finished.error_output.find("nowhere.toml"), std::string::npos);
}

TEST_F(Programs, a_reader_that_goes_away_is_no_error) {
  auto process = fixture_.processes.spawn(command(SPECGEN_BINARY, {"doctor"}));
  ASSERT_TRUE(process.has_value());
  process->output.reset();  // as `| head -0` would
  char complaint = 0;
  auto complained = fixture_.run(process->error_output->read_some({&complaint, 1}));
  EXPECT_EQ(complained.value_or(1), 0U) << "there is text on standard error";
  Exit exit = fixture_.run(process->wait());
  EXPECT_EQ(exit.signal, 0) << to_string(exit);
  EXPECT_EQ(exit.code, specgen({"doctor"}).exit.code);
}

TEST_F(Programs, an_output_that_cannot_be_written_is_an_error) {
  Finished finished = run("/bin/sh", {"-c", "exec \"$0\" doctor > /dev/full", SPECGEN_BINARY});
  EXPECT_EQ(finished.exit.code, 3);
  EXPECT_NE(finished.error_output.find("error E204"), std::string::npos) << finished.error_output;
}

TEST_F(Programs, an_interrupt_ends_doctor_and_what_it_has_started) {
  fs::path mark = folder_.path() / "started";
  // The pid is that of the tool's own child, which no signal of the system's would reach.
  folder_.add("g++", "sleep 1000 & echo $! > " + mark.string() + ".tmp; mv " + mark.string() +
                         ".tmp " + mark.string() + "; wait");
  set("PATH", folder_.path().string() + ":/usr/bin:/bin");
  auto process = fixture_.processes.spawn(command(SPECGEN_BINARY, {"doctor"}));
  ASSERT_TRUE(process.has_value());
  for (int i = 0; i < 3000 && !fs::exists(mark); ++i) {
    fixture_.run([](Loop& loop) -> Task<void> { co_await loop.sleep(10ms); }(fixture_.loop));
  }
  auto tool = read_file(mark);
  ASSERT_TRUE(tool.has_value());
  ::kill(process->pid(), SIGINT);
  EXPECT_EQ(fixture_.run(process->wait()).signal, SIGINT);
  EXPECT_EQ(::kill(std::stoi(*tool), 0), -1) << "a tool's child outlives the doctor";
}

// A driver that is not NVIDIA's, first on the loader's path.
class FakeDriver : public Programs {
 protected:
  void build(std::string_view init_body) {
    std::string source =
        "extern \"C\" {\n"
        "int cuInit(unsigned) { " +
        std::string(init_body) +
        " }\n"
        "int cuDriverGetVersion(int* v) { *v = 12040; return 0; }\n"
        "int cuDeviceGetCount(int* n) { *n = 1; return 0; }\n"
        "int cuDeviceGet(int* d, int i) { *d = i; return 0; }\n"
        "int cuDeviceGetName(char* t, int, int) { __builtin_strcpy(t, \"Fake 9000\"); return 0; }\n"
        "int cuDeviceTotalMem_v2(unsigned long* n, int) { *n = 1ul << 34; return 0; }\n"
        "int cuDeviceGetAttribute(int* v, int which, int) {\n"
        "  *v = which == 75 ? 9 : which == 76 ? 0 : which == 16 ? 7 : -1; return 0; }\n"
        "int cuGetErrorString(int, const char** t) { *t = \"it is a fake\"; return 0; }\n"
        "}\n";
    write(folder_.path() / "driver.cc", source);
    auto built = fixture_.run(
        fixture_.processes.run({.argv = {SPECGEN_TEST_COMPILER, "-shared", "-fPIC", "-o",
                                         (folder_.path() / "libcuda.so.1").string(), "driver.cc"},
                                .folder = folder_.path()}));
    ASSERT_TRUE(built.has_value() && built->exit.ok()) << (built ? built->error_output : "");
    set("LD_LIBRARY_PATH", folder_.path().string());
  }
};

TEST_F(FakeDriver, is_asked_for_its_gpus) {
  build("return 0;");
  auto json = doctor_json();
  EXPECT_EQ(text(check(json, "cuda.driver"), "state"), "ok");
  ASSERT_EQ(json.at("gpus").as_array().size(), 1U);
  const auto& gpu = json.at("gpus").at(0).as_object();
  EXPECT_EQ(gpu.at("name"), "Fake 9000");
  EXPECT_EQ(gpu.at("compute_capability"), "9.0");
  EXPECT_EQ(gpu.at("memory_bytes"), 1ULL << 34);
  EXPECT_EQ(gpu.at("multiprocessors"), 7);
}

TEST_F(FakeDriver, that_fails_says_why) {
  build("return 999;");
  EXPECT_EQ(text(check(doctor_json(), "cuda.driver"), "detail").substr(0, 23),
            "error 999: it is a fake");
}

TEST_F(FakeDriver, that_crashes_is_a_finding) {
  build("__builtin_trap();");
  write(folder_.path() / "specgen.toml", "[tools]\ncompiler = \"" SPECGEN_TEST_COMPILER "\"\n");
  auto json = doctor_json();
  EXPECT_EQ(text(check(json, "cuda.driver"), "state"), "missing");
  EXPECT_EQ(text(check(json, "cuda.driver"), "detail").substr(0, 7), "crashes");
  EXPECT_EQ(json.at("gpus").as_array().size(), 0U);
  EXPECT_EQ(text(check(json, "cpu.compiler"), "state"), "ok");
}

TEST_F(FakeDriver, that_hangs_is_a_finding) {
  build("volatile bool hang = true; while (hang) {} return 0;");
  EXPECT_EQ(text(check(doctor_json({"--time-limit", "2s"}), "cuda.driver"), "detail"),
            "hangs: no answer within 2.00 s");
}

TEST_F(Programs, node_check_lists_devices_for_a_controller) {
  Finished finished = node({"--check", "--json"});
  auto json = parse_json(finished.output);
  ASSERT_TRUE(json.has_value()) << finished.output;
  EXPECT_EQ(json->at("schema"), "specgen.node-check");
  EXPECT_EQ(json->at("devices").at(0).at("id"), "cpu:0");
  EXPECT_TRUE(json->at("nvrtc").at("works").is_bool());
  bool ready = json->at("ready").at("cpu").as_bool() || json->at("ready").at("cuda").as_bool();
  EXPECT_EQ(finished.exit.code, ready ? 0 : 3);
  EXPECT_NE(node({"--check"}).output.find("ready: "), std::string::npos);
}

TEST_F(Programs, answer_the_internal_probe_and_do_not_list_it) {
  EXPECT_EQ(specgen({"--help"}).output.find("internal"), std::string::npos);
  Finished answer = node({"internal-probe", "confinement"});
  EXPECT_EQ(answer.exit.code, 0);
  ASSERT_TRUE(parse_json(answer.output).has_value()) << answer.output;
  EXPECT_TRUE(parse_json(answer.output)->at("own_uid").at("works").is_bool());
  EXPECT_EQ(specgen({"internal-probe", "nothing"}).exit.code, 2);
}

}  // namespace
}  // namespace specgen
