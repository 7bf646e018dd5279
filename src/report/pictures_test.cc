#include "report/pictures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "report/fake_run.h"
#include "report/page_text.h"
#include "report/step_levels.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Attributes = std::map<std::string, std::string>;

struct Element {
  std::string tag;
  Attributes attributes;
};

// A strict parser of the XML that we write: tags closed in order, attributes quoted, nothing unescaped. Returns the
// elements; none if the text is malformed.
std::vector<Element> elements_of(std::string_view svg) {
  std::vector<Element> elements;
  std::vector<std::string> open;
  for (std::size_t at = 0; at < svg.size();) {
    if (svg[at] == '>') return {};
    if (svg[at] == '&') {
      std::string_view rest = svg.substr(at, 6);
      bool known = rest.starts_with("&lt;") || rest.starts_with("&gt;") ||
                   rest.starts_with("&amp;") || rest.starts_with("&quot;") ||
                   rest.starts_with("&#39;");
      if (!known) return {};
    }
    if (svg[at] != '<') {
      ++at;
      continue;
    }
    std::size_t end = svg.find('>', at);
    if (end == std::string_view::npos) return {};
    std::string_view inside = svg.substr(at + 1, end - at - 1);
    at = end + 1;
    if (inside.starts_with('/')) {
      if (open.empty() || open.back() != inside.substr(1)) return {};
      open.pop_back();
      continue;
    }
    const bool is_empty = inside.ends_with('/');
    if (is_empty) inside.remove_suffix(1);
    std::size_t name_end = std::min(inside.find(' '), inside.size());
    Element element{.tag = std::string(inside.substr(0, name_end)), .attributes = {}};
    inside.remove_prefix(name_end);
    while (!inside.empty()) {
      std::size_t equals = inside.find("=\"");
      std::size_t close = equals == inside.npos ? inside.npos : inside.find('"', equals + 2);
      if (!inside.starts_with(' ') || close == inside.npos) return {};
      element.attributes[std::string(inside.substr(1, equals - 1))] =
          std::string(inside.substr(equals + 2, close - equals - 2));
      inside.remove_prefix(close + 1);
    }
    if (!is_empty) open.push_back(element.tag);
    elements.push_back(std::move(element));
  }
  return open.empty() ? elements : std::vector<Element>{};
}

double number(const Element& element, const std::string& key) {
  return std::stod(element.attributes.at(key));
}

std::vector<Element> of_kind(const std::vector<Element>& all, std::string_view tag,
                             std::string_view kind) {
  std::vector<Element> found;
  for (const Element& each : all) {
    auto its = each.attributes.find("class");
    if (each.tag == tag && its != each.attributes.end() && its->second == kind) {
      found.push_back(each);
    }
  }
  return found;
}

// Two devices over 100 s: one validates from 20 to 40 and profiles from 40 to 50, without a result.
Timeline two_devices() {
  return {
      .spans =
          {{.phase = Phase::main, .start = 0s, .end = 80s, .label = "main"},
           {.phase = Phase::fork, .start = 10s, .end = 20s, .label = "fork"},
           {.phase = Phase::validate, .device = "cpu:0", .start = 20s, .end = 40s, .label = "c1"},
           {.phase = Phase::profile,
            .device = "cpu:0",
            .start = 40s,
            .end = 50s,
            .useful = false,
            .label = "c1"}},
      .devices = {"cpu:0", "cuda:<\"&'>"},
      .end = 100s};
}

using Picture = std::string (*)(const Timeline&, SvgForm);
constexpr std::array<Picture, 3> kPictures{in_flight_picture, device_picture, utilisation_picture};

TEST(Pictures, are_well_formed_for_any_names) {
  for (Picture picture : kPictures) {
    std::string svg = picture(two_devices(), SvgForm::file);
    auto elements = elements_of(svg);
    ASSERT_FALSE(elements.empty()) << svg;
    EXPECT_EQ(elements[0].tag, "svg");
    EXPECT_EQ(elements[0].attributes.at("xmlns"), "http://www.w3.org/2000/svg");
    EXPECT_EQ(elements[0].attributes.at("role"), "img");
    EXPECT_EQ(elements[1].tag, "title");
    EXPECT_EQ(elements[2].tag, "desc");
    EXPECT_EQ(svg, picture(two_devices(), SvgForm::file)) << "not reproducible";
    EXPECT_EQ(svg.find("url("), std::string::npos);
  }
}

TEST(Pictures, of_a_run_without_spans_say_why_they_are_empty) {
  for (Picture picture : kPictures) {
    std::string svg = picture({}, SvgForm::file);
    EXPECT_FALSE(elements_of(svg).empty());
    EXPECT_NE(svg.find("no request has ended and no candidate has been evaluated"),
              std::string::npos);
  }
}

TEST(Pictures, bars_are_drawn_at_their_time) {
  auto elements = elements_of(device_picture(two_devices()));
  auto rows = of_kind(elements, "rect", "row");
  ASSERT_EQ(rows.size(), 2U) << "an unused device has a row too";
  const double left = number(rows[0], "x"), width = number(rows[0], "width");
  auto bars = of_kind(elements, "rect", "validate");
  ASSERT_EQ(bars.size(), 2U) << "the legend and the job";
  EXPECT_NEAR(number(bars[1], "x"), left + 0.2 * width, 0.02);
  EXPECT_NEAR(number(bars[1], "width"), 0.2 * width, 0.02);
  EXPECT_EQ(number(bars[1], "y"), number(rows[0], "y"));
  EXPECT_EQ(of_kind(elements, "path", "hatched profile").size(), 1U);
  auto lost = of_kind(elements, "rect", "profile faint");
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(number(lost[0], "x"), left + 0.4 * width, 0.02);
}

TEST(Pictures, have_a_description) {
  std::string devices = device_picture(two_devices());
  EXPECT_NE(devices.find("2 devices over 1m40s"), std::string::npos) << devices.substr(0, 400);
  EXPECT_NE(devices.find("cpu:0: 2 jobs, busy 30 % of the time."), std::string::npos);
  std::string use = utilisation_picture(two_devices());
  EXPECT_NE(use.find("10 % was used for evaluation and 5 % had no result"), std::string::npos)
      << use;
  std::string flight = in_flight_picture(two_devices());
  EXPECT_NE(flight.find("at most 2 requests and jobs at once"), std::string::npos);
  EXPECT_NE(flight.find("reasoning 0.8; forks 0.1; validate 0.2; profile 0.1;"), std::string::npos);
}

Timeline crowded(int devices, int jobs_each) {
  Timeline timeline{.spans = {}, .devices = {}, .end = 1h};
  for (int device = 0; device < devices; ++device) {
    std::string name = "cuda:" + std::to_string(device);
    timeline.devices.push_back(name);
    const double interval = 3600.0 / jobs_each;
    for (int job = 0; job < jobs_each; ++job) {
      timeline.spans.push_back({.phase = job % 2 == 0 ? Phase::validate : Phase::profile,
                                .device = name,
                                .start = from_seconds(job * interval),
                                .end = from_seconds((job + 0.9) * interval),
                                .useful = job % 5 != 0,
                                .label = "c"});
    }
  }
  return timeline;
}

TEST(Pictures, have_a_row_for_each_of_64_devices_and_one_for_the_rest) {
  auto few = elements_of(device_picture(crowded(64, 2)));
  EXPECT_EQ(of_kind(few, "rect", "row").size(), 64U);
  std::string svg = device_picture(crowded(1000, 2));
  EXPECT_EQ(of_kind(elements_of(svg), "rect", "row").size(), 64U);
  EXPECT_NE(svg.find("937 more"), std::string::npos);
}

TEST(Pictures, stay_small_for_any_number_of_spans) {
  Timeline timeline = crowded(200, 1000);
  for (Picture picture : kPictures) {
    std::string svg = picture(timeline, SvgForm::file);
    EXPECT_FALSE(elements_of(svg).empty());
    EXPECT_LT(svg.size(), 2'000'000U);
  }
}

TEST(Pictures, for_a_page_have_no_address) {
  std::string page = pictures_for_page(two_devices());
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_FALSE(elements_of("<page>" + page + "</page>").empty());
}

TEST(Svg, numbers_have_no_trailing_zeros) {
  EXPECT_EQ(svg_number(12), "12");
  EXPECT_EQ(svg_number(3.5), "3.5");
  EXPECT_EQ(svg_number(-0.001), "0");
  EXPECT_EQ(svg_number(100), "100");
  EXPECT_EQ(svg_number(std::nan("")), "0");
}

TEST(Svg, escapes_markup_and_characters_that_xml_does_not_allow) {
  EXPECT_EQ(xml_escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(xml_escaped(std::string("a\x01"
                                    "b")),
            "a b");
}

TEST(Svg, ticks_are_round) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(0, 11, 5), (std::vector<double>{0, 5, 10}));
  EXPECT_EQ(round_ticks(0, 0, 5), (std::vector<double>{0}));
  TimeTicks minutes = time_ticks(10min, 9);
  EXPECT_EQ(minutes.unit, "min");
  EXPECT_EQ(minutes.numbers, (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(time_ticks(90s, 9).unit, "s");
  EXPECT_EQ(time_ticks(500ms, 9).unit, "ms");
  EXPECT_EQ(time_ticks(24h, 9).numbers.back(), "24");
  EXPECT_EQ(time_ticks(24h * 365, 9).unit, "days");
  EXPECT_LE(time_ticks(24h * 36500, 9).at.size(), 11U);
  EXPECT_EQ(time_ticks(0s, 9).at.size(), 1U);
}

TEST(StepLevels, are_exact_where_steps_are_few) {
  StepLevels levels({{0, 0s, 4s}, {0, 2s, 6s}, {1, 5s, 20s}}, 2, 10s, 100);
  ASSERT_EQ(levels.steps(), 5U);
  EXPECT_EQ(levels.level(1, 0), 2);
  EXPECT_EQ(levels.begin(1), 2s);
  EXPECT_EQ(levels.below(3, 2), 2);
  EXPECT_EQ(levels.highest(), 2);
  EXPECT_NEAR(levels.mean(0), 0.8, 1e-9);
  EXPECT_NEAR(levels.mean(1), 0.5, 1e-9) << "time after the end does not count";
}

TEST(StepLevels, averages_keep_the_sum) {
  std::vector<KindSpan> spans;
  for (int i = 0; i < 1000; ++i) spans.push_back({0, i * 10ms, i * 10ms + 3ms});
  StepLevels levels(spans, 1, 10s, 50);
  EXPECT_EQ(levels.steps(), 50U);
  EXPECT_NEAR(levels.mean(0), 0.3, 1e-6);
}

TEST(Timeline, of_a_run_has_its_calls_and_stages) {
  FakeRun run;
  IterationId iteration = run.iteration();
  run.call(iteration, "main", 100, 0, 30);
  run.call(iteration, "fork", 10, 5, 8);
  CandidateId good = run.candidate(iteration, Origin::fork, "a", 8);
  run.confirm(good, 2, 20, 4);
  CandidateId twin = run.candidate(iteration, Origin::main, "a", 21);
  CandidateJudged repeated{.verdict = Verdict::ok, .repeated = true};
  repeated.spans = {{Stage::validate, "cpu:0", Time(1s), Time(1s), Time(2s)}};
  run.judge(twin, repeated);
  CandidateId unlucky = run.candidate(iteration, Origin::main, "b", 22);
  CandidateJudged judged{.verdict = Verdict::wrong};
  judged.spans = {{Stage::compile, "compile", Time(22s), Time(22s), Time(23s)},
                  {Stage::validate, "cpu:1", Time(23s), Time(23s), Time(24s)},
                  {Stage::validate, "cpu:0", Time(24s), Time(24s), Time(26s)}};
  run.judge(unlucky, judged);

  Timeline timeline = timeline_of(run.data().state);
  std::map<Phase, int> count;
  int lost = 0;
  for (const TimelineSpan& span : timeline.spans) {
    ++count[span.phase];
    if (!span.useful) ++lost;
  }
  EXPECT_EQ(count, (std::map<Phase, int>{{Phase::main, 1},
                                         {Phase::fork, 1},
                                         {Phase::compile, 2},
                                         {Phase::validate, 3},
                                         {Phase::profile, 1}}))
      << "the repeated candidate has no spans of its own";
  EXPECT_EQ(lost, 1) << "the validation that was repeated";
  EXPECT_EQ(timeline.devices, (std::vector<std::string>{"cpu:0", "cpu:1"}));
  EXPECT_GE(timeline.end, Duration(30s));
}

}  // namespace
}  // namespace specgen
