// `specgen triggers` as a user meets it: texts, cassettes, sets of one's own, and what is wrong with them.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "generate/cassette/cassette_for_tests.h"
#include "generate/cassette/cassette_format.h"
#include "support/program_fixture.h"

namespace specgen {
namespace {

const std::string kTrace = SPECGEN_SOURCE_DIR "/tests/traces/row_sums.txt";

class TriggersCommand : public testing::Test {
 protected:
  TriggersCommand() : fixture_("") {}

  Finished triggers(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {SPECGEN_BINARY, "triggers"});
    return fixture_.run(std::move(arguments));
  }
  // The first stream of what it prints.
  Json stream(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    Finished finished = triggers(std::move(arguments));
    EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
    auto document = parse_json(finished.output);
    return document ? document->at("streams").at(0) : Json();
  }

  ProgramFixture fixture_;
};

std::vector<std::string> names(const Json& stream) {
  std::vector<std::string> all;
  for (const Json& trigger : stream.at("triggers").as_array()) {
    all.push_back(text_at(trigger, "name"));
  }
  return all;
}

TEST_F(TriggersCommand, shows_matches_cuts_and_harvest) {
  const std::string text = read_file(kTrace).value();
  Json seen = stream({kTrace, "--model", "author", "--backend", "cpu"});
  EXPECT_EQ(names(seen), (std::vector<std::string>{"decision", "block_closed"}));
  const Json& decision = seen.at("triggers").at(0);
  auto cut = static_cast<std::size_t>(int_at(decision, "cut"));
  EXPECT_TRUE(text.substr(0, cut).ends_with("I'll go with `sums = four`.\n\n"));
  ASSERT_EQ(seen.at("harvest").as_array().size(), 1U);
  const Json& kernel = seen.at("harvest").at(0);
  auto begin = static_cast<std::size_t>(int_at(kernel, "begin"));
  auto end = static_cast<std::size_t>(int_at(kernel, "end"));
  EXPECT_EQ(text.substr(begin, end - begin), text_at(kernel, "source"));
  EXPECT_EQ(text_at(kernel, "kind"), "native");
  EXPECT_EQ(int_at(kernel, "line"), 12);
}

TEST_F(TriggersCommand, prints_the_same_for_people) {
  Finished finished = triggers({kTrace, "--backend", "cpu"});
  EXPECT_EQ(finished.exit.code, 0);
  EXPECT_TRUE(finished.output.contains("goes_with"));
  EXPECT_TRUE(finished.output.contains("I'll go with `sums = four`."));
  EXPECT_TRUE(finished.output.contains("harvest for cpu: 1 draft, 1 distinct\n"))
      << finished.output;
  EXPECT_TRUE(finished.error_output.empty());
}

TEST_F(TriggersCommand, reads_standard_input) {
  Command command =
      fixture_.command({SPECGEN_BINARY, "triggers", "-", "--backend", "cpu", "--json"});
  command.input = read_file(kTrace).value();
  Finished finished = fixture_.fixture.run(fixture_.fixture.processes.run(command)).value();
  EXPECT_EQ(finished.exit.code, 0) << finished.error_output;
  EXPECT_EQ(parse_json(finished.output)->at("streams").at(0).at("harvest").as_array().size(), 1U);
}

TEST_F(TriggersCommand, without_a_backend_harvests_for_the_one_that_has_drafts) {
  Json seen = stream({kTrace});
  EXPECT_EQ(text_at(seen, "backend"), "cpu");
  EXPECT_EQ(seen.at("harvest").as_array().size(), 1U);
  EXPECT_TRUE(triggers({kTrace}).output.contains("harvest for cpu: 1 draft")) << "says which";
}

TEST_F(TriggersCommand, counts_drafts_that_repeat_an_earlier_one) {
  std::string trace = read_file(kTrace).value();
  std::string twice = fixture_.write("twice.txt", trace + "\n" + trace);
  Json seen = stream({twice});
  EXPECT_EQ(seen.at("harvest").as_array().size(), 1U);
  EXPECT_EQ(int_at(seen, "repeated"), 1);
  EXPECT_TRUE(triggers({twice}).output.contains("2 drafts, 1 distinct"));
}

TEST_F(TriggersCommand, the_other_backend_harvests_nothing_here) {
  EXPECT_TRUE(stream({kTrace, "--backend", "cuda"}).at("harvest").as_array().empty());
}

TEST_F(TriggersCommand, reads_the_reasoning_of_a_cassette) {
  std::vector<RecordedPiece> pieces{
      {std::chrono::seconds(1), chat_chunk("reasoning_content", "Four sums. I'll go ")},
      {std::chrono::seconds(2), chat_chunk("reasoning_content", "with that.\\n\\nWait")},
      {std::chrono::seconds(3), chat_chunk("content", "I'll go with this.\\n\\n")},
      {std::chrono::seconds(4), last_chunks(5, 6)}};
  const std::string body =
      R"({"model":"zai/GLM-5.1","stream":true,"messages":[{"role":"user","content":"x"}]})";
  std::string file =
      fixture_.write("talk.cassette", encode_cassette({exchange_of(1, body, std::move(pieces))}));
  Json seen = stream({file});
  EXPECT_EQ(text_at(seen, "name"), "exchange 1");
  EXPECT_EQ(text_at(seen, "family"), "glm");
  EXPECT_EQ(names(seen), std::vector<std::string>{"goes_with"});
  EXPECT_EQ(int_at(seen.at("triggers").at(0), "cut"), 31);
}

TEST_F(TriggersCommand, takes_a_set_of_ones_own) {
  std::string set = fixture_.write("mine.toml",
                                   "family = 'mine'\n[[pattern]]\nname = 'sum'\nregex = 'one sum'\n"
                                   "category = 'check_passed'\ncut = 'after_match'\n");
  Json seen = stream({kTrace, "--triggers", set});
  EXPECT_EQ(text_at(seen, "family"), "mine");
  EXPECT_EQ(names(seen), std::vector<std::string>{"sum"});
}

TEST_F(TriggersCommand, says_what_is_wrong) {
  Finished missing = triggers({"nowhere.txt"});
  EXPECT_EQ(missing.exit.code, 2);
  EXPECT_TRUE(missing.error_output.contains("nowhere.txt")) << missing.error_output;
  Finished backend = triggers({kTrace, "--backend", "tpu"});
  EXPECT_EQ(backend.exit.code, 2);
  EXPECT_TRUE(backend.error_output.contains("'tpu' is none of auto, cpu, cuda"));
  std::string bad = fixture_.write("bad.toml",
                                   "family = 'bad'\n[[pattern]]\nname = 'endless'\nregex = 'a+'\n"
                                   "category = 'check_passed'\n");
  Finished set = triggers({kTrace, "--triggers", bad});
  EXPECT_EQ(set.exit.code, 2);
  EXPECT_TRUE(set.error_output.contains("bad.toml:4: pattern 'endless': a+: + has no bound"))
      << set.error_output;
  std::string silent = fixture_.write("silent.cassette", encode_cassette({}));
  Finished cassette = triggers({silent});
  EXPECT_EQ(cassette.exit.code, 2);
  EXPECT_TRUE(cassette.error_output.contains("there is no reasoning in it"))
      << cassette.error_output;
}

TEST_F(TriggersCommand, an_empty_trace_has_nothing_in_it) {
  Json seen = stream({fixture_.write("empty.txt", "")});
  EXPECT_TRUE(names(seen).empty());
  EXPECT_TRUE(seen.at("harvest").as_array().empty());
}

}  // namespace
}  // namespace specgen
