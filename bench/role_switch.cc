// How long a real device waits between two jobs of different kinds: from reading the answer of one to sending the
// request for the next. The other end is a specgen-node with its judge and real candidates; a role switch needs
// nothing else, as one judge does both.

#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>
#include <optional>

#include "base/file.h"
#include "candidates.h"
#include "figures.h"
#include "runtime/real_driver.h"
#include "runtime/task_group.h"
#include "schedule/evaluation_pool.h"
#include "schedule/node_process.h"

namespace specgen {
namespace {

constexpr int kCandidates = 12;

// Records the frames of one device.
struct Gaps {
  std::map<std::string, std::string> kinds;  // by job
  std::string ended;                         // the kind of the last job
  std::optional<Stopwatch> since_end;
  std::vector<double> other_ms;

  void sent(const Json& frame) {
    if (text_at(frame, "device").empty()) return;
    std::string kind = text_at(frame, "do");
    if (since_end && kind != ended && ended != "prepare") {
      other_ms.push_back(1e3 * since_end->seconds());
    }
    since_end.reset();
    kinds[text_at(frame, "job")] = kind;
  }
  void received(const Json& frame) {
    auto job = kinds.find(text_at(frame, "job"));
    if (job == kinds.end() || text_at(frame, "event") != "done") return;
    ended = job->second;
    since_end.emplace();
  }
};

class WatchedLink final : public HostLink {
 public:
  WatchedLink(std::unique_ptr<HostLink> link, Gaps& gaps) : link_(std::move(link)), gaps_(gaps) {}

  Result<void> send(Json frame) override {
    gaps_.sent(frame);
    return link_->send(std::move(frame));
  }
  Task<Result<std::optional<Json>>> receive() override {
    auto frame = CO_TRY(co_await link_->receive());
    if (frame) gaps_.received(*frame);
    co_return frame;
  }

 private:
  std::unique_ptr<HostLink> link_;
  Gaps& gaps_;
};

class WatchedHost final : public Host {
 public:
  WatchedHost(Host& host, Gaps& gaps) : host_(host), gaps_(gaps) {}

  std::string name() const override { return host_.name(); }
  Task<Result<std::unique_ptr<HostLink>>> connect() override {
    co_return std::make_unique<WatchedLink>(CO_TRY(co_await host_.connect()), gaps_);
  }

 private:
  Host& host_;
  Gaps& gaps_;
};

Task<void> evaluate(EvaluationPool& pool, Candidate candidate) {
  (void)co_await pool.evaluate(std::move(candidate));
}

Task<Result<void>> evaluate_all(Loop& loop, EvaluationPool& pool, std::string task,
                                std::string source) {
  CO_TRY(co_await pool.open());
  TaskGroup group(loop);
  IdSource<CandidateId> ids;
  for (int i = 0; i < kCandidates; ++i) {
    // Different from the others, or it would not be judged again.
    group.spawn(
        evaluate(pool, {.id = ids.next(),
                        .task = task,
                        .backend = "cpu",
                        .source = fmt::format("{}\nextern const int other_{};\n", source, i),
                        .origin = Origin::main,
                        .iteration = IterationId{1}}));
  }
  co_return co_await group.join();
}

}  // namespace

void bench_role_switch() {
  heading("Role switch of a real device (cpu:0)");
  RealDriver driver;
  Loop loop(driver);
  Processes processes(loop, driver);
  NodeProcess node(loop, processes, {.devices = {"cpu:0"}});
  Gaps gaps;
  WatchedHost host(node, gaps);
  auto task = source_folder("tasks") / "hinge_loss";
  auto source = read_file(task / "baseline.cc");
  if (!source) return note("cannot be measured", source.error().text());
  EvaluationPool pool(loop, {&host}, {});
  if (auto done = loop.run(evaluate_all(loop, pool, task.string(), *source)); !done) {
    return note("cannot be measured", done.error().text());
  }
  double p99 = quantile(gaps.other_ms, 0.99);
  at_most(fmt::format("from one kind of job to another, worst of {}", gaps.other_ms.size()), p99, 5,
          fmt::format("{:.2f} ms", p99), "5 ms");
  note("  its median", fmt::format("{:.2f} ms", quantile(gaps.other_ms, 0.5)));
}

}  // namespace specgen
