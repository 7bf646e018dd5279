// specgen-node over its pipes, with a correct controller and with broken ones.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "base/json.h"
#include "evaluate/cpu/cpu_device.h"
#include "evaluate/judge/device_lock.h"
#include "evaluate/node/frames.h"
#include "kvcache/kv_test_client.h"
#include "runtime/race.h"
#include "runtime/stopwatch.h"
#include "runtime/testing.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Object = boost::json::object;

// A node and the controller's end of it. Counts the final answers of every job.
class NodeProcess {
 public:
  explicit NodeProcess(ProgramFixture& host, std::vector<std::string> arguments = {})
      : host_(host), process_(started(host, std::move(arguments))), frames_(*process_.output) {}

  void send(const Json& frame) { send_bytes(framed(frame)); }
  void send_bytes(std::string bytes) {
    auto write = [](AsyncFd& pipe, std::string all) -> Task<Result<void>> {
      co_return co_await pipe.write_all(all);
    };
    EXPECT_TRUE(host_.fixture.run(write(*process_.input, std::move(bytes))).has_value());
  }
  // Null: the node has closed its end.
  Json next() {
    auto frame =
        host_.fixture.run(with_timeout(host_.fixture.loop, 60s, frames_.next(), "a frame"));
    if (!frame || !*frame) {
      EXPECT_TRUE(frame.has_value()) << frame.error().text();
      return nullptr;
    }
    Json json = parse_json(**frame).value();
    std::string event = text_at(json, "event");
    if (event == "done" || event == "error" || event == "cancelled") ++finals[text_at(json, "job")];
    if (event == "progress") progress.push_back(text_at(json, "text"));
    return json;
  }
  Json answer(std::string_view job) {
    while (true) {
      Json json = next();
      if (json.is_null() || (text_at(json, "event") != "progress" && text_at(json, "job") == job)) {
        return json;
      }
    }
  }
  Json ask(Object request) {
    send(request);
    return answer(text_at(request, "job"));
  }
  Exit end() {
    process_.input.reset();
    while (!next().is_null()) continue;
    return host_.fixture.run(process_.wait());
  }
  pid_t pid() const { return process_.pid(); }
  Process& process() { return process_; }

  std::map<std::string, int> finals;
  std::vector<std::string> progress;

 private:
  static Process started(ProgramFixture& host, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SPECGEN_NODE_BINARY);
    auto process = host.fixture.processes.spawn(host.command(std::move(arguments)));
    SG_ASSERT(process.has_value(), "the node does not start");
    return std::move(*process);
  }
  ProgramFixture& host_;
  Process process_;
  FrameReader frames_;
};

class NodeTest : public testing::Test {
 protected:
  NodeTest() { host_.write("small", task_); }

  static Object job(std::string id, std::string kind, Object more = {}) {
    Object json{{"job", std::move(id)},
                {"epoch", 3},
                {"do", std::move(kind)},
                {"device", "cpu:0"},
                {"task", "small"}};
    for (auto& [key, value] : more) json[key] = value;
    return json;
  }
  Object evaluate(std::string id, std::string source) {
    return job(std::move(id), "evaluate", {{"source", std::move(source)}});
  }
  static int code_of(const Json& answer) {
    const Json* error = member_at(answer, "error");
    return error ? static_cast<int>(int_at(*error, "code")) : 0;
  }
  static std::string verdict_of(const Json& answer) {
    const Json* result = member_at(answer, "result");
    const Json* finding = result ? member_at(*result, "finding") : nullptr;
    return finding ? text_at(*finding, "verdict") : "none: " + compact_json(answer);
  }
  std::string compiled(NodeProcess& node, const std::string& id, std::string source,
                       const std::string& task = "small") {
    Json answer = node.ask(job(id, "compile", {{"source", std::move(source)}, {"task", task}}));
    EXPECT_EQ(verdict_of(answer), "ok");
    const Json* result = member_at(answer, "result");
    return result ? text_at(*result, "program") : std::string();
  }
  // Until a candidate runs: judges and executors of its own.
  std::vector<LivingProcess> children_at_work(NodeProcess& node) {
    std::vector<LivingProcess> children;
    auto executes = [](const LivingProcess& each) {
      return each.command_line.find("internal-cpu-executor") != std::string::npos;
    };
    for (int i = 0; i < 6000 && std::ranges::count_if(children, executes) < 2; ++i) {
      host_.rest();
      children = family_of(node.pid());
    }
    EXPECT_GE(std::ranges::count_if(children, executes), 2) << "nothing was started";
    return children;
  }

  SmallTask task_;
  std::string endless_ = task_.with("for (volatile int i = 0; i < 1;) {}");
  ProgramFixture host_{SPECGEN_TEST_CACHE};
};

TEST_F(NodeTest, sends_hello_first_and_ends_with_its_controller) {
  NodeProcess node(host_);
  Json hello = node.next();
  EXPECT_EQ(text_at(hello, "event"), "hello");
  EXPECT_EQ(int_at(hello, "protocol"), 1);
  EXPECT_GE(int_at(hello, "lanes"), 1);
  EXPECT_EQ(text_at(hello.at("devices").at(0), "id"), "cpu:0");
  EXPECT_EQ(node.end().code, 0);
}

TEST_F(NodeTest, serves_only_the_devices_given) {
  NodeProcess node(host_, {"--devices", "cpu:0"});
  EXPECT_EQ(node.next().at("devices").as_array().size(), 1U);
  NodeProcess other(host_, {"--devices", "cuda:77"});
  EXPECT_TRUE(other.next().is_null());
  EXPECT_EQ(other.end().code, 3);
}

TEST_F(NodeTest, a_candidate_passes_from_source_to_profile) {
  NodeProcess node(host_);
  Json prepared = node.ask(job("p", "prepare"));
  EXPECT_EQ(text_at(prepared, "event"), "done") << compact_json(prepared);
  std::string program = compiled(node, "c", "// specgen:tune W = 1, 2\n" + task_.baseline);
  ASSERT_FALSE(program.empty());
  Json validated = node.ask(job("v", "validate", {{"program", program}}));
  ASSERT_EQ(verdict_of(validated), "ok");
  EXPECT_EQ(int_at(validated, "epoch"), 3);
  EXPECT_GT(number_at(validated.at("result").at("breakdown_ms"), "in all"), 0);
  Json screen = validated.at("result").at("screen");
  EXPECT_GT(number_at(screen, "median"), 0);
  Json profiled = node.ask(job("f", "profile", {{"program", program}, {"screen", screen}}));
  std::string verdict = verdict_of(profiled);
  EXPECT_TRUE(verdict == "ok" || verdict == "unstable_timing") << verdict;
  EXPECT_TRUE(member_at(profiled.at("result"), "profile"));
  Json tuned = node.ask(job("t", "tune", {{"program", program}, {"screen", screen}}));
  ASSERT_EQ(text_at(tuned, "event"), "done") << compact_json(tuned);
  EXPECT_EQ(int_at(tuned.at("result"), "combinations"), 2);
  EXPECT_EQ(int_at(tuned.at("result"), "tried"), 1);
  // What it names can be judged like any other.
  std::string best = text_at(tuned.at("result"), "program");
  EXPECT_EQ(verdict_of(node.ask(job("b", "validate", {{"program", best}}))), "ok");
  EXPECT_FALSE(node.progress.empty());
  EXPECT_EQ(node.end().code, 0);
  for (const auto& [id, finals] : node.finals) EXPECT_EQ(finals, 1) << id;
}

TEST_F(NodeTest, evaluate_answers_as_the_command_prints) {
  NodeProcess node(host_);
  Json answer = node.ask(evaluate("e", task_.with("a = 3;")));
  ASSERT_EQ(text_at(answer, "event"), "done") << compact_json(answer);
  EXPECT_EQ(text_at(answer.at("result"), "verdict"), "wrong");
  EXPECT_TRUE(text_at(answer.at("result"), "feedback").starts_with("wrong: y["));
}

TEST_F(NodeTest, a_fault_of_the_candidate_is_a_finding_and_one_of_the_task_an_error) {
  NodeProcess node(host_);
  Json refused = node.ask(job("c", "compile", {{"source", "no C++"}}));
  EXPECT_EQ(verdict_of(refused), "compile_error");
  EXPECT_FALSE(member_at(refused.at("result"), "program"));
  EXPECT_EQ(verdict_of(node.ask(job("big", "compile", {{"source", std::string(10'000'000, 'x')}}))),
            "rejected");
  EXPECT_EQ(verdict_of(node.ask(job("none", "compile"))), "rejected");
  EXPECT_EQ(code_of(node.ask(job("t", "prepare", {{"task", "nowhere"}}))), 601);
  EXPECT_EQ(code_of(node.ask(job("e", "evaluate", {{"task", ""}}))), 601);
}

TEST_F(NodeTest, after_profile_the_evaluation_is_as_complete_as_that_of_evaluate) {
  NodeProcess node(host_);
  Json complete = node.ask(evaluate("e", task_.baseline)).at("result");
  Json refused = node.ask(job("r", "compile", {{"source", "nonsense"}})).at("result");
  EXPECT_EQ(text_at(refused.at("evaluation"), "verdict"), "compile_error");
  EXPECT_FALSE(text_at(refused, "feedback").empty());

  Json compiled_result = node.ask(job("c", "compile", {{"source", task_.baseline}})).at("result");
  Json program = compiled_result.at("program");
  Json validated =
      node.ask(job("v", "validate",
                   {{"program", program}, {"evaluation", compiled_result.at("evaluation")}}))
          .at("result");
  Json profiled = node.ask(job("f", "profile",
                               {{"program", program},
                                {"screen", validated.at("screen")},
                                {"evaluation", validated.at("evaluation")}}))
                      .at("result");
  const Json& staged = profiled.at("evaluation");
  const bool agree = staged.at("verdict") == complete.at("verdict");  // a busy host may be unstable
  for (const auto& [key, value] : complete.get_object()) {
    if (key == "feedback") continue;
    ASSERT_TRUE(member_at(staged, key)) << key;
    if (agree) EXPECT_EQ(member_at(staged, key)->kind(), value.kind()) << key;
  }
  for (const char* key : {"task", "device", "device_name", "sandbox", "trust"}) {
    EXPECT_EQ(staged.at(key), complete.at(key)) << key;
  }
  ASSERT_EQ(staged.at("cases").as_array().size(), complete.at("cases").as_array().size());
  for (std::size_t i = 0; i < complete.at("cases").as_array().size(); ++i) {
    const Json& one = staged.at("cases").at(i);
    const Json& other = complete.at("cases").at(i);
    EXPECT_EQ(text_at(one, "name"), text_at(other, "name"));
    EXPECT_EQ(one.at("rms_error_ratio").kind(), other.at("rms_error_ratio").kind());
    EXPECT_EQ(one.at("candidate_us").kind(), other.at("candidate_us").kind());
  }
  for (const char* key : {"compile", "validate", "profile", "measure", "total"}) {
    EXPECT_GT(number_at(staged.at("timings_ms"), key), 0) << key;
  }
  EXPECT_FALSE(text_at(profiled, "feedback").empty());
}

TEST_F(NodeTest, the_same_source_for_another_dtype_is_another_program) {
  NodeProcess node(host_);
  std::string single = compiled(node, "a", task_.baseline);
  std::string twice = compiled(node, "b", task_.baseline, "small:f64");
  EXPECT_NE(single, twice);
  EXPECT_EQ(verdict_of(node.ask(job("v", "validate", {{"program", single}}))), "ok");
  EXPECT_EQ(compiled(node, "c", task_.baseline), single) << "the same again is the same";
}

TEST_F(NodeTest, unknown_names_are_refused_and_the_next_job_works) {
  NodeProcess node(host_);
  Json device = node.ask(job("d", "validate", {{"device", "cpu:7"}}));
  EXPECT_EQ(code_of(device), 102);
  EXPECT_NE(text_at(device.at("error"), "context").find("did you mean 'cpu:0'"), std::string::npos);
  EXPECT_EQ(code_of(node.ask(job("k", "paint"))), 102);
  EXPECT_EQ(code_of(node.ask(job("p", "validate", {{"program", "0123"}}))), 102);
  EXPECT_EQ(code_of(node.ask(job("b", "compile", {{"backend", "tpu"}, {"source", "x"}}))), 604);
  std::string program = compiled(node, "c", task_.baseline);
  EXPECT_EQ(code_of(node.ask(job("s", "profile", {{"program", program}}))), 502) << "no screen";
  EXPECT_EQ(verdict_of(node.ask(job("v", "validate", {{"program", program}}))), "ok");
}

TEST_F(NodeTest, invalid_requests_get_an_error_and_the_node_continues) {
  NodeProcess node(host_);
  node.next();
  for (const char* text :
       {"garbage{{", "", "\xff\xfe", "[1, 2]", "3", "null", R"({"job": 5, "do": ["a"]})", "{}",
        R"({"job": "", "do": "prepare"})", R"({"do": "prepare", "device": "cpu:0"})"}) {
    std::string body = text;
    std::string header{static_cast<char>(body.size()), 0, 0, 0};
    node.send_bytes(header + body);
    EXPECT_EQ(text_at(node.next(), "event"), "error") << text;
  }
  std::string deep(200'000, '[');
  node.send_bytes(framed(Json(deep)).replace(4, 1, " "));  // no longer a text: just brackets
  EXPECT_EQ(text_at(node.next(), "event"), "error");
  EXPECT_EQ(text_at(node.ask(job("p", "prepare")), "event"), "done");
}

TEST_F(NodeTest, an_old_epoch_is_refused) {
  NodeProcess node(host_);
  EXPECT_EQ(text_at(node.ask(job("a", "prepare", {{"epoch", 5}})), "event"), "done");
  Json stale = node.ask(job("b", "prepare", {{"epoch", 4}}));
  EXPECT_EQ(code_of(stale), 502);
  EXPECT_EQ(int_at(stale, "epoch"), 5);
  EXPECT_EQ(text_at(node.ask(job("c", "prepare", {{"epoch", 5}})), "event"), "done");
}

TEST_F(NodeTest, an_id_is_used_by_one_job_at_a_time) {
  NodeProcess node(host_);
  node.next();
  node.send(evaluate("same", endless_));
  children_at_work(node);
  Json second = node.ask(evaluate("same", task_.baseline));
  EXPECT_EQ(code_of(second), 502);
  EXPECT_EQ(text_at(node.ask(job("same", "cancel")), "event"), "cancelled");
  EXPECT_EQ(text_at(node.ask(job("same", "prepare")), "event"), "done") << "it is free again";
}

TEST_F(NodeTest, a_cancelled_job_leaves_no_process_and_the_next_one_works) {
  NodeProcess node(host_);
  std::string program = compiled(node, "c", task_.baseline);
  std::vector<LivingProcess> before = family_of(node.pid());  // of the compile slot
  node.send(evaluate("slow", endless_));
  node.send(job("queued", "validate", {{"program", program}}));
  std::vector<LivingProcess> children = children_at_work(node);
  node.send(job("queued", "cancel"));
  EXPECT_EQ(text_at(node.answer("queued"), "event"), "cancelled");
  node.send(job("slow", "cancel"));
  EXPECT_EQ(text_at(node.answer("slow"), "event"), "cancelled");
  EXPECT_EQ(verdict_of(node.ask(job("v", "validate", {{"program", program}}))), "ok");
  for (const LivingProcess& child : children) {
    if (std::ranges::find(before, child.pid, &LivingProcess::pid) != before.end()) continue;
    EXPECT_FALSE(is_alive(child.pid)) << child.command_line;
  }
  node.send(job("unheard-of", "cancel"));
  node.send(job("v", "cancel"));  // it has had its answer
  EXPECT_EQ(node.end().code, 0);
  EXPECT_EQ(node.finals,
            (std::map<std::string, int>{{"c", 1}, {"queued", 1}, {"slow", 1}, {"v", 1}}));
}

TEST_F(NodeTest, killing_a_judge_fails_only_its_job) {
  NodeProcess node(host_);
  std::string program = compiled(node, "c", task_.baseline);
  auto kill_judges = [&] {
    for (const LivingProcess& child : family_of(node.pid())) {
      if (child.command_line.find("internal-judge") != std::string::npos)
        ::kill(child.pid, SIGKILL);
    }
  };
  node.send(evaluate("slow", endless_));
  children_at_work(node);
  kill_judges();
  EXPECT_EQ(code_of(node.answer("slow")), 607);
  EXPECT_EQ(verdict_of(node.ask(job("v", "validate", {{"program", program}}))), "ok");
  // A judge that dies while idle is found dead by the next job.
  kill_judges();
  Json late = node.ask(job("late", "validate", {{"program", program}}));
  EXPECT_TRUE(code_of(late) == 607 || verdict_of(late) == "ok") << compact_json(late);
  EXPECT_EQ(verdict_of(node.ask(job("v2", "validate", {{"program", program}}))), "ok");
  EXPECT_EQ(node.end().code, 0);
  for (const auto& [id, finals] : node.finals) EXPECT_EQ(finals, 1) << id;
}

TEST_F(NodeTest, waits_for_a_device_that_another_process_uses_and_reports_it) {
  auto cores = cores_of_device("cpu:0", allowed_cores());
  ASSERT_TRUE(cores.has_value());
  std::vector<std::string> names;
  for (int core : *cores) names.push_back("core-" + std::to_string(core));
  NodeProcess node(host_);
  std::string program = compiled(node, "c", task_.baseline);
  DeviceLock mine(names);
  ASSERT_TRUE(host_.fixture.run(mine.acquire(host_.fixture.loop, 100s)).has_value());
  node.send(job("v", "validate", {{"program", program}}));
  Json event = node.next();
  while (text_at(event, "event") == "progress" &&
         text_at(event, "text").find("wait") == std::string::npos) {
    event = node.next();
  }
  EXPECT_EQ(text_at(event, "event"), "progress") << compact_json(event);
  mine.release();
  EXPECT_EQ(verdict_of(node.answer("v")), "ok");
}

TEST_F(NodeTest, every_job_is_answered_even_to_a_slow_reader) {
  NodeProcess node(host_);
  node.next();
  constexpr int kJobs = 3000;
  std::string all;
  for (int i = 0; i < kJobs; ++i) {
    all += framed(job(std::to_string(i), "validate", {{"device", "none"}}));
  }
  // All of it is written before anything is read, as far as the pipes take it.
  auto flood = [](AsyncFd& pipe, std::string bytes) -> Task<Result<void>> {
    co_return co_await pipe.write_all(bytes);
  };
  auto read = [](NodeProcess& from, Loop& loop) -> Task<Result<void>> {
    co_await loop.sleep(300ms);
    FrameReader frames(*from.process().output);
    for (int i = 0; i < kJobs; ++i) {
      auto frame = CO_TRY(co_await frames.next());
      if (!frame) co_return fail(ErrorCode::bad_message, "it has ended");
      ++from.finals[text_at(parse_json(*frame).value(), "job")];
    }
    co_return Result<void>();
  };
  auto both = [&]() -> Task<Result<void>> {
    TaskGroup group(host_.fixture.loop);
    group.spawn(flood(*node.process().input, all));
    group.spawn(read(node, host_.fixture.loop));
    co_return co_await group.join();
  };
  auto done = host_.fixture.run(with_timeout(host_.fixture.loop, 60s, both(), "all answers"));
  ASSERT_TRUE(done.has_value()) << done.error().text();
  EXPECT_EQ(node.finals.size(), static_cast<std::size_t>(kJobs));
  for (const auto& [id, finals] : node.finals) EXPECT_EQ(finals, 1) << id;
}

TEST_F(NodeTest, an_oversized_or_truncated_frame_ends_the_node_and_its_processes) {
  for (const std::string& bytes :
       {std::string("\x01\x00\x00\x01", 4), std::string("\x10\x00\x00\x00{\"job\"", 10)}) {
    NodeProcess node(host_);
    node.next();
    node.send(evaluate("slow", endless_));
    std::vector<LivingProcess> children = children_at_work(node);
    node.send_bytes(bytes);
    Exit exit = node.end();
    EXPECT_EQ(exit.code, 1) << to_string(exit);
    for (const LivingProcess& child : children)
      EXPECT_FALSE(is_alive(child.pid)) << child.command_line;
    EXPECT_EQ(node.finals.size(), 0U);
  }
}

TEST_F(NodeTest, when_the_controller_ends_all_work_ends) {
  NodeProcess node(host_);
  node.next();
  node.send(evaluate("slow", endless_));
  std::vector<LivingProcess> children = children_at_work(node);
  EXPECT_EQ(node.end().code, 0);
  for (const LivingProcess& child : children)
    EXPECT_FALSE(is_alive(child.pid)) << child.command_line;
}

TEST_F(NodeTest, a_controller_that_stops_reading_does_not_crash_the_node) {
  NodeProcess node(host_);
  node.next();
  node.process().output.reset();
  for (int i = 0; i < 5; ++i) node.send(job("k" + std::to_string(i), "paint"));
  node.process().input.reset();
  EXPECT_EQ(host_.fixture.run(node.process().wait()).signal, 0);
}

TEST_F(NodeTest, a_job_gets_the_memory_of_the_kv_cache_until_the_device_is_offered_again) {
  std::string path = host_.folder.path() / "kv.sock";
  NodeProcess node(host_, {"--devices", "cpu:0", "--kv", "128MiB", "--kv-listen", "unix:" + path,
                           "--kv-job-memory", "1000000GiB"});  // all that there is
  EXPECT_TRUE(flag_at(node.next(), "lends"));
  kv_testing::NativeClient engine = kv_testing::NativeClient::to_path(path);
  EXPECT_TRUE(engine.set("prefix", std::string(1 << 20, 'x')));
  EXPECT_EQ(text_at(node.ask(evaluate("1", task_.baseline)), "event"), "done");
  EXPECT_EQ(engine.exists("prefix"), false);  // it went for the job
  auto is_kept = [&] {
    EXPECT_TRUE(engine.set("prefix", std::string(1 << 20, 'x')));
    return engine.exists("prefix") == true;
  };
  EXPECT_FALSE(is_kept());  // the next job may come at once
  node.send({{"epoch", 3}, {"do", "lend"}, {"device", "cpu:0"}});
  // There is capacity again as soon as pages are faulted in; until then stored values are dropped.
  bool kept = is_kept();
  for (int i = 0; i < 2000 && !kept; ++i, kept = is_kept()) {
    host_.fixture.loop.run(nap(host_.fixture.loop, std::chrono::milliseconds(10)));
  }
  EXPECT_TRUE(kept);
  engine.send("KV.STATS\r\nQUIT\r\n");
  std::string counters = engine.receive(1 << 20);
  EXPECT_TRUE(counters.contains("specgen_kv_reclaim_seconds_count 1\n")) << counters;
  EXPECT_TRUE(counters.contains("specgen_kv_lost_total{reason=\"reclaimed\"} 1\n")) << counters;
  EXPECT_TRUE(node.end().ok());
}

}  // namespace
}  // namespace specgen
