#include "search/prompt_template.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

const PromptNames kNames{.texts = {"parent", "advice"}, .lists = {"good"}, .in_lists = {"source"}};

Result<PromptFile> no_part(std::string_view) {
  return fail(ErrorCode::bad_prompt, "none");
}

std::string rendered(std::string text, const PromptValues& values,
                     const FindPart& parts = no_part) {
  auto made = PromptTemplate::parse({"p.md", std::move(text)}, kNames, parts);
  return made ? made->render(values) : made.error().context;
}
std::string refusal(std::string text, const FindPart& parts = no_part) {
  auto made = PromptTemplate::parse({"p.md", std::move(text)}, kNames, parts);
  return made ? "accepted" : made.error().context;
}

TEST(PromptTemplate, names_are_filled_in_and_what_they_stand_for_is_not_looked_at) {
  EXPECT_EQ(rendered("a {{parent}} b {{ advice }}.",
                     {.texts = {{"parent", "{{advice}}"}, {"advice", "x"}}, .lists = {}}),
            "a {{advice}} b x.");
}

TEST(PromptTemplate, a_section_without_a_value_is_left_out_with_its_lines) {
  std::string text = "one\n{{#advice}}\nsays: {{advice}}\n{{/advice}}\ntwo\n";
  EXPECT_EQ(rendered(text, {}), "one\ntwo\n");
  EXPECT_EQ(rendered(text, {.texts = {{"advice", " \n"}}, .lists = {}}), "one\ntwo\n")
      << "blanks say nothing";
  EXPECT_EQ(rendered(text, {.texts = {{"advice", "hm"}}, .lists = {}}), "one\nsays: hm\ntwo\n");
  EXPECT_EQ(rendered("a{{#advice}} b{{/advice}} c", {}), "a c");
}

TEST(PromptTemplate, a_section_of_a_list_is_repeated) {
  PromptValues values{.texts = {{"parent", "P"}},
                      .lists = {{"good", {{{"source", "x"}}, {{"source", "y"}}}}}};
  EXPECT_EQ(rendered("{{#good}}\n- {{source}} of {{parent}}\n{{/good}}\nend", values),
            "- x of P\n- y of P\nend");
  EXPECT_EQ(rendered("{{#good}}x{{/good}}end", {}), "end");
}

TEST(PromptTemplate, a_part_is_put_in_and_may_use_names_of_the_list_around_it) {
  FindPart parts = [](std::string_view name) -> Result<PromptFile> {
    if (name == "each") return PromptFile{"each.md", "<{{source}}>\n"};
    return fail(ErrorCode::bad_prompt, "none");
  };
  PromptValues values{.texts = {}, .lists = {{"good", {{{"source", "x"}}}}}};
  EXPECT_EQ(rendered("{{#good}}\n  {{>each}}\n{{/good}}\n", values, parts), "<x>\n");
  EXPECT_EQ(refusal("{{>each}}", parts), "each.md:1: there is no name 'source'");
  EXPECT_EQ(refusal("\n{{>eahc}}", parts), "p.md:2: there is no part 'eahc.md'");
}

TEST(PromptTemplate, what_it_does_not_know_is_refused_with_file_and_line) {
  EXPECT_EQ(refusal("a\n\nb {{parnet}}\n"),
            "p.md:3: there is no name 'parnet'; did you mean 'parent'?");
  EXPECT_EQ(refusal("a\n{{#advcie}}\nb\n{{/advcie}}\n"),
            "p.md:2: there is no name 'advcie'; did you mean 'advice'?");
  EXPECT_EQ(refusal("{{source}}"), "p.md:1: there is no name 'source'");
  EXPECT_EQ(refusal("x\n{{#advice}}\ny\n"), "p.md:2: {{#advice}} is not closed");
  EXPECT_EQ(refusal("x\n{{/advice}}\n"), "p.md:2: {{/advice}} closes nothing");
  EXPECT_EQ(refusal("{{#advice}}{{#parent}}{{/advice}}{{/parent}}"),
            "p.md:1: {{/advice}} closes nothing");
  EXPECT_EQ(refusal("a {{parent\n}}"), "p.md:1: a tag is not closed by }}");
}

TEST(PromptTemplate, braces_of_code_are_text) {
  EXPECT_EQ(rendered("int a[2][2] = {{1, 2}, {3, 4}}; {{}} {{ }", {}),
            "int a[2][2] = {{1, 2}, {3, 4}}; {{}} {{ }");
}

TEST(PromptTemplate, a_part_that_holds_itself_is_refused) {
  FindPart parts = [](std::string_view) -> Result<PromptFile> {
    return PromptFile{"loop.md", "{{>loop}}"};
  };
  EXPECT_EQ(refusal("{{>loop}}", parts), "loop.md: parts are nested more than 8 deep");
}

}  // namespace
}  // namespace specgen
