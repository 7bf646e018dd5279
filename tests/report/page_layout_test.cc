// The pages of `specgen report` and `specgen compare` in a browser, at the widths of a phone, a small window
// and a large
// one: nothing is clipped, and the page itself does not scroll sideways. Needs Chromium; not part of `make test`.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "compare/compare_page.h"
#include "report/fake_run.h"
#include "report/html_report.h"
#include "runtime/subprocess.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::array kWidths{400, 800, 1400};

// A window of Chromium is at least 500 pixels wide, a frame may be narrower.
std::string frame_of(const std::string& page, int width) {
  return fmt::format(
      R"(<!DOCTYPE html><body><iframe src="{}" width="{}" height="1000" style="border: 0"></iframe>
<script>
addEventListener("message", (event) => {{
  const result = document.createElement("pre");
  result.id = "layout";
  result.textContent = event.data;
  document.body.append(result);
}});
</script></body>)",
      page, width);
}

// Lists what a reader cannot see: elements that hide a part of their content, elements that reach beyond the window
// without a parent that scrolls, and texts that reach beyond their picture. In a large window tables and
// pictures must
// fit without scrolling.
constexpr std::string_view kFindClipped = R"(<script>
const faults = [];
const nameOf = (e) => e.tagName + (e.id ? "#" + e.id : "") + "." + e.getAttribute("class") + " " +
  e.textContent.slice(0, 40);
const scrolls = (e) => ["auto", "scroll"].includes(getComputedStyle(e).overflowX);
function isInsideScroll(e) {
  for (let parent = e.parentElement; parent; parent = parent.parentElement) if (scrolls(parent)) return true;
  return false;
}
if (innerWidth >= 1400) {
  for (const e of document.querySelectorAll(".scroll")) {
    if (e.scrollWidth > e.clientWidth + 1) faults.push("does not fit a large window: " + nameOf(e));
  }
}
for (const row of document.querySelectorAll("tr.row")) row.click();
for (const e of document.querySelectorAll("main *")) {
  const place = e.getBoundingClientRect();
  if (place.width === 0 || place.height === 0) continue;
  const svg = e.closest("svg");
  if (svg && e !== svg) {
    const edge = svg.getBoundingClientRect();
    if (e.tagName === "text" && (place.right > edge.right + 1 || place.left < edge.left - 1)) {
      faults.push("outside its picture: " + nameOf(e));
    }
    continue;
  }
  if (["hidden", "clip"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth + 1) {
    faults.push("clipped: " + nameOf(e));
  }
  if (place.right > document.documentElement.clientWidth + 1 && !isInsideScroll(e)) {
    faults.push("outside the window: " + nameOf(e));
  }
}
if (document.documentElement.scrollWidth > innerWidth + 1) faults.push("the page scrolls sideways");
parent.postMessage("layout at " + innerWidth + ": " + (faults.length ? faults.slice(0, 10).join("; ") :
  "nothing clipped"), "*");
</script></body>)";

std::string long_evidence() {
  return "element (17, 4093) is 0.3333, expected 0.6667; the largest error is 12345 times the "
         "tolerance " +
         std::string(80, 'x') + " in case rows=8192 cols=4096";
}

RunData some_run() {
  FakeRun fake({{"softmax_with_a_rather_long_title:f16", "tasks/softmax:f16", "cuda"},
                {"gelu", "tasks/gelu", "cpu"}});
  for (int i = 0; i < 6; ++i) {
    IterationId id = fake.iteration();
    fake.call(id, "main", 40'000, 60 * i, 60 * i + 50);
    CandidateId first = fake.candidate(id, Origin::harvest, "int a;\n" + std::string(300, 'b'),
                                       60 * i + 10, {}, "final_decision");
    fake.judge(first,
               {.verdict = Verdict::wrong, .evidence = long_evidence(), .at = 1min * i + 12s});
    CandidateId second = fake.candidate(id, Origin::fork, "int b;\n", 60 * i + 20, first);
    fake.confirm(
        second, 1.2 + 0.1 * i, 60 * i + 40, 4,
        R"({"device": "cuda:0", "tunables": {"BLOCK": 256}, "profile": {"text": "memory"}})");
    fake.end(id, IterationEnd::stopped, second, 9000);
  }
  fake.add(run_ended_entry("iterations"));
  RunData run = fake.data();
  run.manifest = R"({"model": "openai:a-long-model-name@http://gpu-server-1.example.org:8000/v1",
                     "tasks": [{"where": "/a/long/path/to/the/folder/with/tasks/softmax:f16"}]})";
  run.problems.emplace_back("c17: error E306: an artifact is damaged: " + std::string(64, 'a'));
  return run;
}

std::string comparison() {
  auto figures = [](double wall_s) {
    RunFigures all;
    all.wall_s = wall_s;
    all.iterations = 40;
    all.with_feedback = 15;
    all.early_stops = 9;
    all.tokens = 1'234'567'890;
    all.best = {{wall_s, 100, 2.5}};
    all.stops = {0.2, 0.5, 0.7};
    all.shares = {0.8, 0.9};
    all.tasks = {{.name = "matmul_square:f16", .runs = 1, .wall_s = wall_s, .iterations = 40}};
    return all;
  };
  ComparedSetting setting{.name = "paper-glm", .title = "A scenario of the paper", .runs = {}};
  for (const char* system :
       {"cudaforge", "alphaevolve", "kernelagent", "dispatch2", "specgen", "specgen-split",
        "specgen-noharvest", "specgen-off", "kernelagent+spec"}) {
    for (std::uint64_t seed : {1, 2}) {
      setting.runs.push_back({system, seed, figures(90'000 + 1000 * static_cast<double>(seed))});
    }
  }
  std::vector<ComparedScenario> scenarios{compare(setting)};
  return compare_page({.kind = "virtual", .title = "in virtual time, 2 seeds"}, scenarios,
                      scenarios);
}

class PageLayout : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      if (chromium_.empty()) chromium_ = find_program(name);
    }
    if (chromium_.empty()) GTEST_SKIP() << "NOT RUN: needs Chromium (apt-get install chromium)";
  }

  // What the script found, in the page as it is after it has run.
  std::string layout_of(std::string page, int width) {
    // The page forbids other scripts than its own, or all.
    std::size_t policy = page.find("<meta http-equiv=\"Content-Security-Policy\"");
    page.erase(policy, page.find('>', policy) + 1 - policy);
    page.replace(page.rfind("</body>"), 7, kFindClipped);
    fs::path file = folder_.path() / "page.html";
    EXPECT_TRUE(write_file_durably(file, page));
    fs::path frame = folder_.path() / "frame.html";
    EXPECT_TRUE(write_file_durably(frame, frame_of("page.html", width)));
    RealDriver driver(1);
    Loop loop(driver);
    Processes processes(loop, driver);
    fs::path profile = folder_.path() / ("profile" + std::to_string(width));
    auto finished = loop.run(processes.run(
        {.argv = {chromium_.string(), "--headless", "--no-sandbox", "--disable-gpu",
                  "--disable-quic", "--no-first-run", "--disable-background-networking",
                  "--disable-component-update", "--disable-sync",
                  "--user-data-dir=" + profile.string(), "--window-size=1500,1100",
                  "--virtual-time-budget=5000", "--dump-dom", "file://" + frame.string()},
         .output_limit = MiB(16),
         .time_limit = 60s}));
    EXPECT_TRUE(finished) << finished.error().text();
    if (!finished) return {};
    std::size_t begin = finished->output.find("<pre id=\"layout\">");
    EXPECT_NE(begin, std::string::npos) << finished->error_output;
    if (begin == std::string::npos) return {};
    std::size_t end = finished->output.find("</pre>", begin);
    return finished->output.substr(begin, end - begin);
  }
  void expect_nothing_clipped(const std::string& page) {
    for (int width : kWidths) {
      std::string layout = layout_of(page, width);
      EXPECT_TRUE(layout.contains("nothing clipped")) << width << " pixels: " << layout;
    }
  }

  fs::path chromium_;
  TemporaryFolder folder_ = TemporaryFolder::make().value();
};

TEST_F(PageLayout, a_report_clips_nothing) {
  expect_nothing_clipped(html_report(some_run()));
}

TEST_F(PageLayout, a_report_without_a_result_clips_nothing) {
  expect_nothing_clipped(html_report(FakeRun().data()));
}

TEST_F(PageLayout, a_comparison_clips_nothing) {
  expect_nothing_clipped(comparison());
}

TEST_F(PageLayout, the_check_notices_what_is_clipped) {
  std::string page =
      "<!DOCTYPE html><meta http-equiv=\"Content-Security-Policy\" content=\"\">"
      "<body><main><div style=\"width: 50px; overflow: hidden; white-space: nowrap\">"
      "a text that is wider than its element</div></main></body>";
  EXPECT_TRUE(layout_of(page, 800).contains("clipped: DIV"));
}

}  // namespace
}  // namespace specgen
