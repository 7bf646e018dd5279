#include "report/html_report.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "report/fake_run.h"

namespace specgen {
namespace {

std::string data_of(const std::string& page) {
  constexpr std::string_view kOpen = R"(<script type="application/json" id="data">)";
  std::size_t begin = page.find(kOpen) + kOpen.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

constexpr const char* kHostile =
    "// </script><script>alert('owned')</script> & <img src=x onerror=alert(1)>\n";

FakeRun hostile_run() {
  FakeRun run({{"<b>task</b>", "tasks/softmax", "cpu"}});
  IterationId id = run.iteration();
  CandidateId parent = run.candidate(id, Origin::harvest, "int a;\nint b;\n", 1);
  run.confirm(parent, 1.5, 5);
  CandidateId child =
      run.candidate(id, Origin::fork, std::string("int a;\n") + kHostile, 2, parent, "<trigger>");
  run.judge(child, {.verdict = Verdict::wrong, .evidence = kHostile, .at = std::chrono::seconds(7)},
            R"({"verdict": "wrong", "feedback": "</script><script>alert(2)</script>"})");
  run.end(id, IterationEnd::answered);
  return run;
}

TEST(HtmlReport, text_of_models_never_becomes_markup) {
  RunData run = hostile_run().data();
  run.manifest = R"({"note": "</script><script>alert(3)</script>"})";
  run.problems.emplace_back("<script>alert(4)</script>");
  std::string page = html_report(run);
  EXPECT_FALSE(page.contains("<script>alert"));
  EXPECT_FALSE(page.contains("<img"));
  EXPECT_FALSE(page.contains("<b>task"));
  // Only our own two.
  std::size_t scripts = 0;
  for (std::size_t at = page.find("<script"); at != std::string::npos;
       at = page.find("<script", at + 1)) {
    ++scripts;
  }
  EXPECT_EQ(scripts, 2U);
}

TEST(HtmlReport, it_loads_nothing) {
  std::string page = html_report(hostile_run().data());
  for (const char* word : {"http:", "https:", "src=", "@import", "url(", "fetch("}) {
    std::size_t at = page.find(word);
    // The namespace of SVG elements is not an address.
    if (at != std::string::npos && page.substr(at).starts_with("http://www.w3.org/2000/svg")) {
      at = page.find(word, at + 10);
    }
    std::size_t in_data = page.find(data_of(page));
    bool ours = at != std::string::npos && (at < in_data || at > in_data + data_of(page).size());
    EXPECT_FALSE(ours) << word << ": " << page.substr(at, 60);
  }
  EXPECT_TRUE(page.contains("default-src 'none'"));
}

TEST(HtmlReport, the_data_has_every_candidate) {
  std::string page = html_report(hostile_run().data());
  Json data = parse_json(data_of(page)).value();
  const auto& candidates = data.at("candidates").as_array();
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_EQ(text_at(candidates[0], "origin"), "harvest");
  EXPECT_DOUBLE_EQ(number_at(candidates[0].at("speedup"), "median"), 1.5);
  EXPECT_EQ(text_at(candidates[1], "trigger"), "<trigger>");
  EXPECT_EQ(text_at(candidates[1], "verdict"), "wrong");
  EXPECT_EQ(text_at(candidates[1], "evidence"), kHostile);
  EXPECT_EQ(compact_json(candidates[1].at("diff")), R"([[" ",1],["-",1],["+",1]])");
  EXPECT_EQ(text_at(data.at("sources"), text_at(candidates[1], "source")),
            std::string("int a;\n") + kHostile);
  EXPECT_EQ(int_at(data.at("tasks").at(0), "best_id"), 1);
}

TEST(HtmlReport, bytes_that_are_not_valid_text_do_not_break_it) {
  FakeRun run;
  IterationId id = run.iteration();
  run.candidate(id, Origin::main, "\xff\xfe\x01 kernel", 1);
  EXPECT_TRUE(parse_json(data_of(html_report(run.data()))).has_value());
}

TEST(HtmlReport, a_task_without_a_result_says_why_and_what_to_do) {
  FakeRun fake;
  IterationId id = fake.iteration();
  fake.judge(fake.candidate(id, Origin::main, "a", 1), {.verdict = Verdict::compile_error});
  Json data = parse_json(data_of(html_report(fake.data()))).value();
  const Json& missing = data.at("tasks").at(0).at("no_result");
  EXPECT_TRUE(text_at(missing, "reason").contains("compile_error (1 of 1)"));
  EXPECT_FALSE(text_at(missing, "advice").empty());
  Json with_result = parse_json(data_of(html_report(hostile_run().data()))).value();
  EXPECT_FALSE(with_result.at("tasks").at(0).as_object().contains("no_result"));
}

// Whether anything is clipped in a browser: tests/report/page_layout_test.cc.
TEST(HtmlReport, tables_and_pictures_are_inside_elements_that_scroll) {
  std::string page = html_report(hostile_run().data());
  EXPECT_TRUE(page.contains(".scroll { overflow-x: auto; }"));
  int tables = 0;
  for (std::size_t at = page.find("<table"); at != std::string::npos;
       at = page.find("<table", at + 1)) {
    ++tables;
    EXPECT_TRUE(page.substr(0, at).ends_with("<div class=\"scroll\">")) << page.substr(at, 80);
  }
  for (std::size_t at = page.find("make(\"table\""); at != std::string::npos;
       at = page.find("make(\"table\"", at + 1)) {
    ++tables;
    EXPECT_TRUE(page.substr(0, at).ends_with("make(\"div\", { class: \"scroll\" }, "))
        << page.substr(at, 80);
  }
  EXPECT_EQ(tables, 3);
  for (std::size_t at = page.find("<svg"); at != std::string::npos;
       at = page.find("<svg", at + 1)) {
    EXPECT_TRUE(page.substr(0, at).ends_with("<div class=\"panel scroll\">\n"));
  }
}

}  // namespace
}  // namespace specgen
