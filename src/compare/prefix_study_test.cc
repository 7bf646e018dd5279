#include "compare/prefix_study.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace specgen {
namespace {

class PrefixStudyTest : public testing::Test {
 protected:
  PrefixStudyTest() {
    note(to_entry(RunBegun{.tasks = {{"a", "a", "cpu"}}}));
    note(to_entry(IterationBegun{.id = {1}, .task = 0}));
    note(to_entry(IterationBegun{.id = {2}, .task = 0}));
  }

  void note(EntryText text) {
    auto applied = state.apply({.sequence = ++sequence_,
                                .at = {},
                                .type = std::move(text.first),
                                .body = std::move(text.second)});
    ASSERT_TRUE(applied) << applied.error().context;
  }
  // Speedup 0: it is wrong.
  void judged(CandidateFound found, double speedup, double low = 0) {
    found.id = {++last_};
    if (found.source.sha256.empty()) found.source = {std::to_string(last_)};
    note(to_entry(found));
    bool ok = speedup > 0;
    note(to_entry(CandidateJudged{.id = found.id,
                                  .verdict = ok ? Verdict::ok : Verdict::wrong,
                                  .speedup = {speedup, low > 0 ? low : speedup, speedup},
                                  .profiled = ok}));
  }
  void answer(std::uint64_t iteration, double speedup, std::string source = {}) {
    judged({.iteration = {iteration}, .source = {std::move(source)}, .prefix_tokens = 1000},
           speedup);
    note(to_entry(IterationEnded{.id = {iteration}, .tokens = 1200}));
  }
  void early(std::uint64_t iteration, Origin origin, std::int64_t tokens, double speedup,
             double low = 0, std::string source = {}) {
    judged({.iteration = {iteration},
            .origin = origin,
            .source = {std::move(source)},
            .prefix_tokens = tokens,
            .shadow = true},
           speedup, low);
  }

  RunState state;

 private:
  std::uint64_t sequence_ = 0;
  std::uint64_t last_ = 0;
};

TEST_F(PrefixStudyTest, finds_the_shortest_prefix_that_beats_the_answers_before) {
  early(1, Origin::harvest, 100, 0.9);
  early(1, Origin::fork, 300, 1.5);
  early(1, Origin::fork, 600, 1.6);
  answer(1, 2);
  early(2, Origin::fork, 100, 1.9);  // the mean is 2 now
  early(2, Origin::harvest, 500, 2.5);
  answer(2, 0);
  PrefixStudy study = prefix_study(state);
  ASSERT_EQ(study.streams.size(), 2U);
  EXPECT_EQ(study.streams[0].bar, 1);
  EXPECT_DOUBLE_EQ(study.streams[0].by_fork.value(), 0.3);
  EXPECT_FALSE(study.streams[0].by_draft);
  EXPECT_EQ(study.streams[1].bar, 2);
  EXPECT_DOUBLE_EQ(study.streams[1].shortest().value(), 0.5);
  EXPECT_FALSE(study.streams[1].answer);
  EXPECT_EQ(study.sufficed_by(0.2), 0);
  EXPECT_EQ(study.sufficed_by(0.3), 0.5);
  EXPECT_EQ(study.sufficed_by(1), 1);
  EXPECT_DOUBLE_EQ(study.saved_share(), 0.6);
}

TEST_F(PrefixStudyTest, takes_neither_noise_nor_a_repeated_kernel_for_better) {
  early(1, Origin::fork, 100, 1.1, 0.95);
  answer(1, 2, "same");
  early(2, Origin::fork, 100, 2.4, 2.2, "same");
  answer(2, 3);
  PrefixStudy study = prefix_study(state);
  EXPECT_FALSE(study.streams[0].shortest());
  EXPECT_FALSE(study.streams[1].shortest());
  EXPECT_TRUE(study.streams[1].answer_suffices);
  EXPECT_EQ(study.saved_share(), 0);
}

TEST_F(PrefixStudyTest, counts_ok_candidates_by_the_share_of_reasoning_before_them) {
  early(1, Origin::fork, 50, 0);
  early(1, Origin::fork, 60, 1.2);
  early(1, Origin::fork, 1000, 1.2);
  early(1, Origin::harvest, 550, 1.2);
  answer(1, 2);
  PrefixStudy study = prefix_study(state);
  EXPECT_EQ(study.forks[0].made, 2);
  EXPECT_EQ(study.forks[0].ok, 1);
  EXPECT_EQ(study.forks[9].made, 1);
  EXPECT_EQ(study.drafts[5].sufficed, 1);
}

TEST_F(PrefixStudyTest, compares_the_control_answer_with_the_forks) {
  judged({.iteration = {1}, .trigger = "control", .shadow = true}, 1.4);
  answer(1, 0);
  PrefixStudy study = prefix_study(state);
  EXPECT_EQ(study.streams[0].control.value(), 1.4);
  EXPECT_TRUE(study.streams[0].control_suffices);
  EXPECT_FALSE(study.streams[0].answer_suffices);
}

TEST_F(PrefixStudyTest, leaves_out_a_stream_that_failed) {
  early(1, Origin::fork, 100, 3);
  note(to_entry(IterationEnded{.id = {1}, .end = IterationEnd::failed}));
  EXPECT_TRUE(prefix_study(state).streams.empty());
  EXPECT_EQ(prefix_study(state).saved_share(), 0);
}

TEST_F(PrefixStudyTest, is_printed_as_text_picture_and_json) {
  early(1, Origin::fork, 300, 1.5);
  answer(1, 2);
  PrefixStudy study = prefix_study(state);
  EXPECT_NE(study_text(study).find("would save 70 % of the reasoning"), std::string::npos)
      << study_text(study);
  EXPECT_NE(study_picture(study).find("shortest share"), std::string::npos);
  EXPECT_EQ(to_json(study).at("cdf").as_array().size(), 20U);
}

}  // namespace
}  // namespace specgen
