// Runs hostile programs (src/evaluate/sandbox/poison.h) at every level that this host offers. The
// sandboxed program is specgen-node itself.

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "evaluate/host/fake_tools.h"
#include "evaluate/sandbox/poison.h"
#include "evaluate/sandbox/sandbox.h"
#include "evaluate/sandbox/sandbox_launcher.h"
#include "evaluate/sandbox/sandbox_spec.h"
#include "evaluate/sandbox/seccomp_filter.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// Running processes with this marker in their arguments or environment.
std::vector<std::string> running_with(const std::string& marker) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (name == std::to_string(::getpid())) continue;
    for (const char* file : {"cmdline", "environ"}) {
      auto content = read_file(entry.path() / file);
      if (content && content->find(marker) != std::string::npos) found.push_back(name);
    }
  }
  return found;
}

class Sandboxes : public testing::TestWithParam<SandboxLevel> {
 protected:
  void SetUp() override {
    ::setenv("XDG_CACHE_HOME", (folder_.path() / "cache").c_str(), 1);
    open_at_most(GetParam());
    std::string problem = sandbox_ ? sandbox_->problems() : problem_;
    ASSERT_EQ(problem.find("did not hold"), std::string::npos) << problem;
    if (sandbox_ && sandbox_->level() == GetParam()) return;
    GTEST_SKIP() << "this host does not allow " << to_string(GetParam());
  }

  void open_at_most(SandboxLevel level) {
    SandboxOptions options{.at_most = level, .self = {SPECGEN_NODE_BINARY}};
    auto opened = fixture_.run(Sandbox::open(fixture_.loop, fixture_.processes, options));
    if (opened) sandbox_ = std::move(*opened);
    if (!opened) problem_ = opened.error().text();
  }

  struct Outcome {
    std::optional<Finished> finished;
    std::optional<ErrorCode> error;
    bool killed_for_memory = false;
    std::string text() const {
      if (!finished) return "error " + std::to_string(static_cast<int>(error.value()));
      return to_string(finished->exit) + ": " + finished->output + finished->error_output;
    }
  };

  Outcome run(Command command, SandboxLimits limits = {}, SandboxView view = {}) {
    Outcome outcome;
    auto sandboxed = sandbox_->wrap(std::move(command), limits, std::move(view));
    if (!sandboxed) {
      ADD_FAILURE() << sandboxed.error().text();
      return outcome;
    }
    auto finished = fixture_.run(fixture_.processes.run(sandboxed->command));
    if (finished) outcome.finished = std::move(*finished);
    if (!finished) outcome.error = finished.error().code;
    outcome.killed_for_memory = sandboxed->resources.killed_for_memory();
    return outcome;
  }

  // Runs it, then expects that no process is left and that the next sandbox works.
  Outcome poison(const std::string& name, Strings arguments = {}, SandboxLimits limits = {},
                 Duration time_limit = 30s, SandboxView view = {}) {
    std::string marker = "marker-" + std::to_string(::getpid()) + "-" + std::to_string(++runs_);
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    Fd read_end(ends[0]), write_end(ends[1]);
    Command command{.argv = {SPECGEN_NODE_BINARY, std::string(kInternalPoison), name},
                    .descriptors = {write_end.get()},
                    .time_limit = time_limit};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.argv.push_back(marker);
    Outcome outcome = run(std::move(command), limits, std::move(view));
    write_end.reset();
    EXPECT_TRUE(closes(read_end)) << name << ": a process still holds a descriptor";
    fixture_.run(fixture_.processes.drain());
    EXPECT_EQ(running_with(marker), Strings{}) << name;
    Outcome next = run({.argv = {"true"}});
    EXPECT_TRUE(next.finished && next.finished->exit.ok()) << name << ", then: " << next.text();
    return outcome;
  }

  bool closes(const Fd& pipe) {
    char byte = 0;
    for (int reads = 0; reads < 5000; ++reads) {
      if (::read(pipe.get(), &byte, 1) == 0) return true;
      fixture_.run(sleep_1ms());
    }
    return false;
  }
  Task<void> sleep_1ms() { co_await fixture_.loop.sleep(1ms); }

  // A folder that every user can enter and write to.
  fs::path open_folder() {
    EXPECT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
    fs::path path = folder_.path() / "open";
    fs::create_directory(path);
    EXPECT_TRUE(write_file_durably(path / "kept", "kept").has_value());
    EXPECT_EQ(::chmod(path.c_str(), 0777), 0);
    EXPECT_EQ(::chmod((path / "kept").c_str(), 0666), 0);
    return path;
  }

  void expect_refused(const Outcome& outcome, const std::string& name) {
    ASSERT_TRUE(outcome.finished) << name << " " << outcome.text();
    EXPECT_EQ(outcome.finished->exit.code, kContained) << name << " " << outcome.text();
    EXPECT_EQ(outcome.finished->output, "contained\n") << name;
  }

  FakeTools folder_;
  ToolFixture fixture_;
  std::optional<Sandbox> sandbox_;
  std::string problem_;
  int runs_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Levels, Sandboxes,
                         testing::Values(SandboxLevel::lsm, SandboxLevel::namespaces,
                                         SandboxLevel::full),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST_P(Sandboxes, refuse_attacks_on_the_kernel) {
  for (const char* name : {"mount-something", "new-namespace", "bad-syscalls", "setuid-root",
                           "device-nodes", "proc-write"}) {
    expect_refused(poison(name), name);
  }
}

TEST_P(Sandboxes, refuse_attacks_on_other_processes) {
  Strings us{std::to_string(::getpid()), fs::read_symlink("/proc/self/ns/pid").string()};
  for (const char* name : {"ptrace-parent", "signal-parent", "kill-all"}) {
    expect_refused(poison(name, us), name);
  }
}

TEST_P(Sandboxes, hide_and_protect_the_files_of_the_host) {
  fs::path folder = open_folder();
  expect_refused(poison("read-secret", {folder / "kept"}), "read-secret");
  expect_refused(poison("write-outside", {folder}), "write-outside");
  expect_refused(poison("symlink-escape", {folder}), "symlink-escape");
  EXPECT_EQ(read_file(folder / "kept").value_or(""), "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_P(Sandboxes, have_no_network) {
  Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  expect_refused(poison("connect-out", {std::to_string(ntohs(address.sin_port))}), "connect-out");
  EXPECT_LT(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), 0);
}

TEST_P(Sandboxes, end_programs_that_never_end) {
  for (const char* name : {"fork-bomb", "endless-loop", "stop-self"}) {
    Outcome outcome = poison(name, {}, {.processes = 24}, 700ms);
    EXPECT_EQ(outcome.error, ErrorCode::timeout) << name;
  }
  EXPECT_EQ(poison("endless-output").error, ErrorCode::output_limit);
}

TEST_P(Sandboxes, end_a_loop_at_the_limit_of_processor_time) {
  Outcome outcome = poison("endless-loop", {}, {.cpu_time = 1s});
  ASSERT_TRUE(outcome.finished);
  EXPECT_FALSE(outcome.finished->exit.ok()) << outcome.text();
}

TEST_P(Sandboxes, let_no_daemon_survive) {
  Outcome outcome = poison("daemon");
  ASSERT_TRUE(outcome.finished);
  EXPECT_TRUE(outcome.finished->exit.ok()) << outcome.text();
}

TEST_P(Sandboxes, survive_a_program_that_damages_itself) {
  Outcome closed = poison("close-descriptors");
  ASSERT_TRUE(closed.finished);
  EXPECT_TRUE(closed.finished->exit.ok()) << closed.text();
  Outcome deep = poison("deep-recursion");
  ASSERT_TRUE(deep.finished);
  EXPECT_FALSE(deep.finished->exit.ok()) << deep.text();
}

TEST_P(Sandboxes, limit_memory) {
  bool has_group = GetParam() == SandboxLevel::full;
  if (!has_group && kSanitized) GTEST_SKIP() << "a sanitizer needs more addresses than any limit";
  Outcome outcome = poison("memory-hog", {"1024"}, {.memory = MiB(has_group ? 64 : 256)});
  ASSERT_TRUE(outcome.finished) << outcome.text();
  EXPECT_EQ(outcome.killed_for_memory, has_group) << outcome.text();
  EXPECT_EQ(outcome.finished->exit.ok(), !has_group) << outcome.text();
  EXPECT_FALSE(poison("close-descriptors").killed_for_memory) << "the next sandbox starts at zero";
}

TEST_P(Sandboxes, let_a_gpu_driver_reserve_addresses) {
  expect_refused(poison("reserve-100g", {}, {.memory = MiB(512)}, 30s, {.gpu = true}),
                 "reserve-100g");
}

// Asks the driver itself: that the library loads and the node exists proves nothing.
TEST_P(Sandboxes, let_a_gpu_be_used) {
  auto answer = [&](bool in_sandbox) {
    Command command{.argv = {SPECGEN_NODE_BINARY, "internal-probe", "driver"}};
    if (in_sandbox) return run(command, {}, {.gpu = true}).finished.value_or(Finished{}).output;
    auto finished = fixture_.run(fixture_.processes.run(command));
    return finished ? finished->output : std::string();
  };
  std::string outside = answer(false);
  if (outside.find("compute_capability") == std::string::npos)
    GTEST_SKIP() << "no GPU: " << outside;
  EXPECT_EQ(answer(true), outside);
}

TEST_P(Sandboxes, limit_files) {
  // Every level limits one file. The total is limited where the folder is a file system of its own.
  bool in_all = GetParam() >= SandboxLevel::namespaces;
  Strings limits_in_mib{"4", in_all ? "24" : "100000"};
  SandboxLimits limits{.file_size = MiB(4), .tmp_size = MiB(24)};
  if (in_all) {
    expect_refused(poison("disk-fill", limits_in_mib, limits), "disk-fill");
  } else {
    Outcome outcome = poison("disk-fill", {"4", "32"}, limits);
    ASSERT_TRUE(outcome.finished);
    EXPECT_EQ(outcome.finished->output.find("one file"), std::string::npos) << outcome.text();
  }
}

TEST_P(Sandboxes, show_the_view_and_pass_input_output_and_descriptors) {
  fs::path folder = open_folder();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  Fd read_end(ends[0]), write_end(ends[1]);
  std::string script = "cat " + (folder / "kept").string() +
                       "; cat; echo to-three >&3; echo error >&2; touch \"$TMPDIR/x\" && pwd; "
                       "echo $GIVEN; echo $HOME; (echo x >>" +
                       (folder / "kept").string() + ") && echo written; exit 7";
  Outcome outcome = run({.argv = {"sh", "-c", script},
                         .environment = Strings{"GIVEN=given"},
                         .input = " input ",
                         .descriptors = {write_end.get()}},
                        {}, {.read_only = {folder}});
  write_end.reset();
  ASSERT_TRUE(outcome.finished) << outcome.text();
  EXPECT_EQ(outcome.finished->exit.code, 7) << outcome.text();
  std::vector<std::string_view> lines = split(trim(outcome.finished->output), '\n');
  ASSERT_EQ(lines.size(), 3U) << outcome.text();
  EXPECT_TRUE(lines[0].starts_with("kept input ")) << lines[0];
  EXPECT_EQ(lines[1], "given");
  EXPECT_TRUE(lines[0].ends_with(lines[2])) << "it starts in its private folder";
  EXPECT_NE(outcome.finished->error_output.find("error"), std::string::npos);
  char text[16] = {};
  EXPECT_EQ(::read(read_end.get(), text, sizeof text), 9);
  EXPECT_EQ(std::string(text), "to-three\n");
}

// It has the program's uid and could be taken over, which must not give more rights.
TEST_P(Sandboxes, restrict_bubblewraps_first_process_like_the_program) {
  if (GetParam() < SandboxLevel::namespaces) GTEST_SKIP() << "no bubblewrap at this level";
  Outcome outcome = run({.argv = {"cat", "/proc/1/status", "/proc/self/status"}});
  ASSERT_TRUE(outcome.finished) << outcome.text();
  std::string_view text = outcome.finished->output;
  int seen = 0;
  for (std::string_view line : split(text, '\n')) {
    bool expected = line.starts_with("Cap") && line.ends_with("0000000000000000");
    expected = expected || line == "NoNewPrivs:\t1" || line == "Seccomp:\t2";
    seen += expected ? 1 : 0;
  }
  EXPECT_EQ(seen, 14) << text;  // five sets of capabilities and two flags, for both
}

// Bubblewrap starts the program before it restricts its own first process.
TEST_P(Sandboxes, start_nothing_before_a_slow_bubblewrap_is_restricted) {
  if (GetParam() < SandboxLevel::namespaces) GTEST_SKIP() << "no bubblewrap at this level";
  // Not in /tmp, over which the launcher mounts another folder.
  fs::path folder = "/var/tmp/specgen-slow-" + std::to_string(::getpid());
  fs::create_directory(folder);
  fs::path library = folder / "slow.so", wrapper = folder / "wrapper";
  std::string slow = R"(
    #include <dlfcn.h>
    #include <stdarg.h>
    #include <sys/prctl.h>
    #include <unistd.h>
    extern "C" int prctl(int option, ...) {
      va_list list;
      va_start(list, option);
      unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long);
      unsigned long c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
      if (option == PR_SET_SECCOMP && getpid() == 1) usleep(300000);
      auto* real = reinterpret_cast<int (*)(int, ...)>(dlsym(RTLD_NEXT, "prctl"));
      return real(option, a, b, c, d);
    })";
  auto built = fixture_.run(fixture_.processes.run(
      {.argv = {"g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library}, .input = slow}));
  ASSERT_TRUE(built && built->exit.ok());
  SandboxedCommand sandboxed = *sandbox_->wrap(
      {.argv = {"grep", "-h", "Seccomp_filters", "/proc/1/status", "/proc/self/status"}}, {});
  SandboxSpec spec = *parse_sandbox_spec(sandboxed.command.argv[2]);
  ASSERT_TRUE(write_file_durably(wrapper, "#!/bin/sh\nLD_PRELOAD=" + library.string() + " exec " +
                                              spec.bubblewrap + " \"$@\"\n"));
  ASSERT_EQ(::chmod(wrapper.c_str(), 0755), 0);
  spec.bubblewrap = wrapper;
  sandboxed.command.argv[2] = to_text(spec);
  auto finished = fixture_.run(fixture_.processes.run(sandboxed.command));
  fs::remove_all(folder);
  ASSERT_TRUE(finished && finished->exit.ok()) << finished->error_output;
  std::vector<std::string_view> filters = split(trim(finished->output), '\n');
  ASSERT_EQ(filters.size(), 2U) << finished->output;
  EXPECT_EQ(filters[0], filters[1]);
}

TEST_P(Sandboxes, compile_a_program) {
  Outcome outcome = run({.argv = {"sh", "-c", "g++ -x c++ - -o a.out && ./a.out"},
                         .input = "#include <cstdio>\nint main() { std::puts(\"compiled\"); }\n",
                         .time_limit = 60s});
  ASSERT_TRUE(outcome.finished) << outcome.text();
  EXPECT_EQ(outcome.finished->output, "compiled\n") << outcome.text();
}

TEST_P(Sandboxes, report_a_view_that_other_users_cannot_read) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root's sandboxes have another uid";
  fs::path folder = folder_.path() / "closed";
  fs::create_directory(folder);
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  auto sandboxed = sandbox_->wrap({.argv = {"true"}}, {}, {.read_only = {folder}});
  ASSERT_FALSE(sandboxed.has_value());
  EXPECT_NE(sandboxed.error().text().find("chmod -R a+rX"), std::string::npos);
}

TEST_P(Sandboxes, show_a_view_below_a_closed_folder) {
  if (::geteuid() != 0 || GetParam() < SandboxLevel::namespaces) GTEST_SKIP();
  fs::path shown = folder_.path() / "closed" / "shown";
  fs::create_directories(shown);
  ASSERT_TRUE(write_file_durably(shown / "file", "seen").has_value());
  ASSERT_EQ(::chmod(shown.parent_path().c_str(), 0700), 0);
  Outcome outcome = run({.argv = {"cat", shown / "file"}}, {}, {.read_only = {shown}});
  ASSERT_TRUE(outcome.finished);
  EXPECT_EQ(outcome.finished->output, "seen") << outcome.text();
}

TEST_P(Sandboxes, running_at_the_same_time_have_different_uids) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can change uids";
  auto first = sandbox_->wrap({.argv = {"true"}}, {});
  auto second = sandbox_->wrap({.argv = {"true"}}, {});
  ASSERT_TRUE(first && second);
  auto spec = [](const SandboxedCommand& sandboxed) {
    return *parse_sandbox_spec(sandboxed.command.argv[2]);
  };
  EXPECT_NE(spec(*first).uid, spec(*second).uid);
  EXPECT_NE(spec(*first).uid, 0U);
}

TEST_P(Sandboxes, remove_their_group_and_folder) {
  SandboxedCommand sandboxed = *sandbox_->wrap({.argv = {"true"}}, {});
  SandboxSpec spec = *parse_sandbox_spec(sandboxed.command.argv[2]);
  EXPECT_EQ(spec.join.empty(), GetParam() != SandboxLevel::full);
  EXPECT_EQ(spec.private_tmp.empty(), GetParam() != SandboxLevel::lsm);
  ASSERT_TRUE(fixture_.run(fixture_.processes.run(sandboxed.command)).has_value());
  {
    SandboxResources released = std::move(sandboxed.resources);
  }
  fixture_.run(fixture_.processes.drain());
  SandboxedCommand next = *sandbox_->wrap({.argv = {"true"}}, {});  // removes groups that were busy
  for (const std::string& file : spec.join) EXPECT_FALSE(fs::exists(file)) << file;
  EXPECT_FALSE(!spec.private_tmp.empty() && fs::exists(spec.private_tmp));
}

TEST_P(Sandboxes, change_the_uid_inside_without_user_namespaces) {
  if (::geteuid() != 0 || GetParam() < SandboxLevel::namespaces) GTEST_SKIP();
  for (std::string name : {"setuid-root", "new-namespace", "mount-something", "device-nodes",
                           "ptrace-parent", "proc-write", "bad-syscalls"}) {
    SandboxedCommand sandboxed =
        *sandbox_->wrap({.argv = {SPECGEN_NODE_BINARY, std::string(kInternalPoison), name}}, {});
    SandboxSpec spec = *parse_sandbox_spec(sandboxed.command.argv[2]);
    spec.user_namespace = false;
    sandboxed.command.argv[2] = to_text(spec);
    auto finished = fixture_.run(fixture_.processes.run(sandboxed.command));
    ASSERT_TRUE(finished.has_value());
    EXPECT_EQ(finished->output, "contained\n") << name << ": " << finished->error_output;
  }
}

TEST_P(Sandboxes, use_the_cached_level_unless_other_users_may_write_it) {
  if (GetParam() < SandboxLevel::namespaces)
    GTEST_SKIP() << "the test changes bubblewrap's version";
  fs::path file = fs::directory_iterator(folder_.path() / "cache" / "specgen")->path();
  std::string cached = *read_file(file);
  std::string version = "\"version\":\"0.";
  std::size_t at = cached.find(version);
  ASSERT_NE(at, std::string::npos) << cached;
  cached.replace(at, cached.find(',', at) - at, "\"version\":\"0.1.0\"");
  ASSERT_TRUE(write_file_durably(file, cached).has_value());
  auto uses_cache = [&] {
    open_at_most(GetParam());
    SandboxedCommand sandboxed = *sandbox_->wrap({.argv = {"true"}}, {});
    return !parse_sandbox_spec(sandboxed.command.argv[2])->disable_user_namespaces;
  };
  EXPECT_TRUE(uses_cache());
  ASSERT_EQ(::chmod(file.c_str(), 0666), 0);
  EXPECT_FALSE(uses_cache());
}

// The attacks are real: what is refused above succeeds without a sandbox.
TEST(Poison, succeeds_without_a_sandbox) {
  ToolFixture fixture;
  FakeTools folder;
  ASSERT_TRUE(write_file_durably(folder.path() / "kept", "kept").has_value());
  auto run = [&](const std::string& name, const std::string& argument) {
    Command command{.argv = {"setpriv", "--no-new-privs", SPECGEN_NODE_BINARY,
                             std::string(kInternalPoison), name, argument}};
    auto finished = fixture.run(fixture.processes.run(command));
    return finished ? finished->exit.code : -1;
  };
  EXPECT_EQ(run("read-secret", folder.path() / "kept"), kEscaped);
  EXPECT_EQ(run("symlink-escape", folder.path()), kEscaped);
  EXPECT_EQ(run("write-outside", folder.path()), kEscaped);
  EXPECT_EQ(run("connect-out", "9"), kEscaped);
  EXPECT_EQ(run("bad-syscalls", ""), kEscaped);
  EXPECT_EQ(run("memory-hog", "64"), kEscaped);
  EXPECT_EQ(run("ptrace-parent", ""), kEscaped);
}

TEST(Poison, refuses_to_run_outside_a_sandbox) {
  ToolFixture fixture;
  for (const PoisonKind& each : poisons()) {
    auto finished = fixture.run(fixture.processes.run(
        {.argv = {SPECGEN_NODE_BINARY, std::string(kInternalPoison), std::string(each.name)}}));
    ASSERT_TRUE(finished.has_value());
    EXPECT_EQ(finished->exit.code, 2) << each.name;
  }
}

TEST(ComputingFilter, applies_to_threads_that_were_started_before) {
  FilterProgram program = *computing_filter();
  pid_t child = ::fork();
  if (child == 0) {
    std::atomic<bool> applied = false;
    std::thread other([&] {
      while (!applied) {
      }
      ::syscall(SYS_getpid);
    });
    if (!apply_filter(program, FilteredThreads::all_threads)) ::syscall(SYS_exit_group, 99);
    applied = true;
    while (true) ::syscall(SYS_sched_yield);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGSYS);
}

TEST(SandboxLauncher, runs_nothing_if_the_sandbox_cannot_be_set_up) {
  ToolFixture fixture;
  FakeTools folder;
  fs::path marker = folder.path() / "ran";
  SandboxSpec spec{.level = SandboxLevel::full, .bubblewrap = "/usr/bin/bwrap"};
  spec.filter = *sandbox_filter({});
  spec.join = {(folder.path() / "no-such-group" / "cgroup.procs").string()};
  SandboxSpec no_uid{.level = SandboxLevel::lsm};
  no_uid.filter = spec.filter;
  no_uid.private_tmp = folder.path();
  for (const std::string& text : {to_text(spec), to_text(no_uid), std::string("{}"),
                                  std::string("not json"), std::string()}) {
    auto finished = fixture.run(
        fixture.processes.run({.argv = {SPECGEN_NODE_BINARY, std::string(kInternalSandbox), text,
                                        "--", "touch", marker}}));
    ASSERT_TRUE(finished.has_value());
    EXPECT_EQ(finished->exit.code, kSandboxFailed) << text;
    EXPECT_NE(finished->error_output.find("internal-sandbox: "), std::string::npos);
    EXPECT_FALSE(fs::exists(marker));
  }
}

TEST(Sandbox, that_is_required_and_does_not_hold_is_an_error) {
  ToolFixture fixture;
  FakeTools folder;
  ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  // A program that reports nothing: every self-test fails.
  std::string silent = folder.add("silent", "exit 0");
  SandboxOptions options{.self = {silent}};
  auto opened = fixture.run(Sandbox::open(fixture.loop, fixture.processes, options));
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::sandbox_missing);
  EXPECT_EQ(opened.error().exit_code(), ExitCode::environment);
  options.allow_none = true;
  opened = fixture.run(Sandbox::open(fixture.loop, fixture.processes, options));
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->level(), SandboxLevel::none);
  auto sandboxed = opened->wrap({.argv = {"true"}}, {});
  ASSERT_TRUE(sandboxed.has_value());
  EXPECT_EQ(sandboxed->command.argv, Strings{"true"});
}

}  // namespace
}  // namespace specgen
