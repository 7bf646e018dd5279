#include "cli/command_line.h"

#include <gtest/gtest.h>

#include "cli/usage.h"
#include "cli/version.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

Error error_of(Result<Invocation> parsed) {
  if (!parsed) return parsed.error();
  ADD_FAILURE() << "this was understood";
  return {};
}
std::string shown(const Result<Invocation>& parsed) {
  const auto* text = parsed ? std::get_if<ShowText>(&parsed->what) : nullptr;
  return text && text->asked_for ? text->text : std::string();
}

TEST(SpecgenCommandLine, doctor_with_its_flags) {
  auto parsed = parse_specgen(Words{"doctor", "--json", "--time-limit", "500ms"});
  ASSERT_TRUE(parsed.has_value());
  auto check = std::get<CheckHost>(parsed->what);
  EXPECT_TRUE(check.json);
  EXPECT_EQ(check.time_limit, 500ms);
  EXPECT_FALSE(parsed->config.has_value());
}

TEST(SpecgenCommandLine, config_stands_before_or_after_the_command) {
  for (const Words& words :
       {Words{"--config", "a.toml", "doctor"}, Words{"doctor", "--config=a.toml"}}) {
    auto parsed = parse_specgen(words);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->config, "a.toml");
    EXPECT_EQ(std::get<CheckHost>(parsed->what).time_limit, 20s);
  }
}

TEST(SpecgenCommandLine, an_unknown_command_is_told_with_the_nearest) {
  Error error = error_of(parse_specgen(Words{"docter", "--json"}));
  EXPECT_EQ(error.text(),
            "error E101: the command line is not understood: there is no command 'docter'; did you "
            "mean 'doctor'?\n  what to do: see `specgen --help`");
  EXPECT_EQ(error.exit_code(), ExitCode::usage);
}

TEST(SpecgenCommandLine, an_unknown_flag_is_told_with_the_nearest_of_its_command) {
  Error error = error_of(parse_specgen(Words{"doctor", "--jsn"}));
  EXPECT_EQ(error.context, "there is no flag '--jsn'; did you mean '--json'?");
  EXPECT_EQ(error.what_to_do(), "see `specgen doctor --help`");
  EXPECT_EQ(error_of(parse_specgen(Words{"--confg=x", "doctor"})).context,
            "there is no flag '--confg'; did you mean '--config'?");
}

TEST(SpecgenCommandLine, a_flag_before_its_command_is_shown_its_place) {
  EXPECT_EQ(error_of(parse_specgen(Words{"--json"})).context,
            "'--json' comes after its command: specgen doctor --json");
}

TEST(SpecgenCommandLine, words_and_values_too_many_or_too_few) {
  EXPECT_EQ(error_of(parse_specgen(Words{"doctor", "doctor"})).context,
            "'doctor' is one word too many for 'doctor'");
  EXPECT_EQ(error_of(parse_specgen(Words{"--config"})).context, "'--config' needs a value");
  EXPECT_EQ(error_of(parse_specgen(Words{"doctor", "--json=yes"})).context,
            "'--json' takes no value");
  EXPECT_EQ(error_of(parse_specgen(Words{"--config", "a", "--config", "b", "doctor"})).context,
            "'--config' is given more than once");
}

TEST(SpecgenCommandLine, a_time_limit_is_a_length_of_time) {
  for (const char* bad : {"5", "0s", "soon"}) {
    Error error = error_of(parse_specgen(Words{"doctor", "--time-limit", bad}));
    EXPECT_EQ(error.context, std::string("--time-limit: '") + bad + "' is not a length of time");
  }
}

TEST(SpecgenCommandLine, help_is_what_was_asked_for) {
  std::string top = shown(parse_specgen(Words{"--help"}));
  EXPECT_EQ(shown(parse_specgen(Words{"help"})), top);
  for (const char* part :
       {"\n  doctor ", "\n  help ", "--config FILE", "example:", "documentation:"}) {
    EXPECT_NE(top.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(top.find("internal-probe"), std::string::npos);
  std::string doctor = shown(parse_specgen(Words{"doctor", "-h"}));
  EXPECT_NE(doctor.find("usage: specgen doctor [options]"), std::string::npos) << doctor;
  EXPECT_EQ(shown(parse_specgen(Words{"help", "doctor"})), doctor);
  EXPECT_EQ(error_of(parse_specgen(Words{"help", "docter"})).context,
            "there is no command 'docter'; did you mean 'doctor'?");
}

TEST(SpecgenCommandLine, no_words_show_help_as_an_answer_to_bad_usage) {
  auto parsed = parse_specgen(Words{});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_FALSE(std::get<ShowText>(parsed->what).asked_for);
}

TEST(SpecgenCommandLine, version_is_one_line) {
  EXPECT_EQ(shown(parse_specgen(Words{"--version"})), "specgen " + std::string(version()) + "\n");
  EXPECT_EQ(shown(parse_node(Words{"--version"})), "specgen-node " + std::string(version()) + "\n");
}

TEST(SpecgenCommandLine, our_own_child_is_understood_by_both) {
  for (auto* parse : {parse_specgen, parse_node}) {
    auto parsed = parse(Words{"internal-probe", "nvrtc"});
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(std::get<InternalProbe>(parsed->what).what, "nvrtc");
  }
}

TEST(NodeCommandLine, check_and_its_flags) {
  auto parsed = parse_node(Words{"--check", "--json", "--time-limit=3s"});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(std::get<CheckHost>(parsed->what).json);
  EXPECT_EQ(std::get<CheckHost>(parsed->what).time_limit, 3s);
  EXPECT_EQ(error_of(parse_node(Words{"--json"})).context, "--json requires --check");
  EXPECT_EQ(error_of(parse_node(Words{"--chek"})).context,
            "there is no flag '--chek'; did you mean '--check'?");
  EXPECT_EQ(error_of(parse_node(Words{"doctor"})).context, "'doctor' is one word too many");
}

TEST(NodeCommandLine, no_words_show_help_as_an_answer_to_bad_usage) {
  auto parsed = parse_node(Words{});
  ASSERT_TRUE(parsed.has_value());
  EXPECT_FALSE(std::get<ShowText>(parsed->what).asked_for);
}

TEST(Usage, a_single_letter_is_not_guessed_at) {
  ProgramNames names{.program = "p", .flags = {"-h", "--help"}, .commands = {}};
  EXPECT_EQ(unexpected_word("-x", "", names).context, "there is no flag '-x'");
  EXPECT_EQ(unexpected_word("--hlep", "", names).context,
            "there is no flag '--hlep'; did you mean '--help'?");
}

}  // namespace
}  // namespace specgen
