#include "base/toml.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TomlFile parsed(std::string_view text) {
  return TomlFile::parse(text, "task.toml").value();
}

// The context of the first mistake, or empty.
std::string mistake(TomlFile& file) {
  Result<void> finished = file.finish();
  if (finished) return "";
  EXPECT_EQ(finished.error().code, ErrorCode::bad_config);
  return finished.error().context;
}

TEST(Toml, every_kind_of_value_is_read) {
  TomlFile file = parsed(R"(
name = "softmax"
count = -3
eps = 1e-5
whole = 2
exact = true
tags = ["a", "b"]
)");
  TomlTable& root = file.root();
  EXPECT_EQ(root.text("name"), "softmax");
  EXPECT_EQ(root.integer("count"), -3);
  EXPECT_EQ(root.number("eps"), 1e-5);
  EXPECT_EQ(root.number("whole"), 2);
  EXPECT_TRUE(root.flag("exact"));
  EXPECT_EQ(root.texts("tags"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, a_missing_key_reads_as_the_fallback) {
  TomlFile file = parsed("");
  TomlTable& root = file.root();
  EXPECT_EQ(root.text("name", "none"), "none");
  EXPECT_EQ(root.integer("count", 7), 7);
  EXPECT_EQ(root.number("eps", 0.5), 0.5);
  EXPECT_TRUE(root.flag("exact", true));
  EXPECT_EQ(root.texts("tags", {"x"}), std::vector<std::string>{"x"});
  EXPECT_FALSE(root.has("name"));
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, an_unknown_key_names_its_line_and_the_nearest_key) {
  TomlFile file = parsed("rows = 1\n\ncosl = 2\n");
  file.root().integer("rows");
  file.root().integer("cols");
  EXPECT_EQ(mistake(file), "task.toml:3: there is no key 'cosl'; did you mean 'cols'?");
}

TEST(Toml, an_unknown_key_without_a_similar_one_is_reported_alone) {
  TomlFile file = parsed("temperature = 1\n");
  file.root().integer("rows");
  EXPECT_EQ(mistake(file), "task.toml:1: there is no key 'temperature'");
}

TEST(Toml, unknown_keys_are_found_in_tables_too) {
  TomlFile file = parsed("[tools]\npython = \"python3\"\npyhton = \"x\"\n");
  file.root().table("tools").text("python");
  EXPECT_EQ(mistake(file), "task.toml:3: there is no key 'pyhton'; did you mean 'python'?");
}

TEST(Toml, a_table_that_is_never_requested_is_an_unknown_key) {
  TomlFile file = parsed("a = 1\n[tolos]\npython = \"x\"\n");
  file.root().integer("a");
  file.root().table("tools");
  EXPECT_EQ(mistake(file), "task.toml:2: there is no key 'tolos'; did you mean 'tools'?");
}

TEST(Toml, a_value_of_the_wrong_type_reads_as_the_fallback_and_is_reported) {
  TomlFile file = parsed("rows = \"many\"\n");
  EXPECT_EQ(file.root().integer("rows", 8), 8);
  EXPECT_EQ(mistake(file), "task.toml:1: 'rows' must be an integer, not text");
}

TEST(Toml, types_are_not_converted) {
  auto complaint = [](std::string_view text, auto ask) {
    TomlFile file = parsed(text);
    ask(file.root());
    return mistake(file);
  };
  EXPECT_EQ(complaint("k = 1.0", [](TomlTable& t) { t.integer("k"); }),
            "task.toml:1: 'k' must be an integer, not a number");
  EXPECT_EQ(complaint("k = 1", [](TomlTable& t) { t.flag("k"); }),
            "task.toml:1: 'k' must be true or false, not an integer");
  EXPECT_EQ(complaint("k = true", [](TomlTable& t) { t.number("k"); }),
            "task.toml:1: 'k' must be a number, not true or false");
  EXPECT_EQ(complaint("k = 1", [](TomlTable& t) { t.text("k"); }),
            "task.toml:1: 'k' must be text, not an integer");
  EXPECT_EQ(complaint("k = [\"a\", 1]", [](TomlTable& t) { t.texts("k"); }),
            "task.toml:1: 'k' must be a list of texts, not a list");
  EXPECT_EQ(complaint("k = 1", [](TomlTable& t) { t.table("k"); }),
            "task.toml:1: 'k' must be a table, not an integer");
  EXPECT_EQ(complaint("k = [1]", [](TomlTable& t) { t.tables("k"); }),
            "task.toml:1: 'k' must be a list of tables, [[k]]");
}

TEST(Toml, the_first_mistake_is_reported) {
  TomlFile file = parsed("a = 1\nb = 2\nunknown = 3\n");
  file.root().text("b");
  file.root().text("a");
  EXPECT_EQ(mistake(file), "task.toml:2: 'b' must be text, not an integer");
}

TEST(Toml, tables_nest) {
  TomlFile file = parsed("[device.limits]\nmemory = \"4GiB\"\n");
  EXPECT_EQ(file.root().table("device").table("limits").text("memory"), "4GiB");
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, a_table_may_be_requested_twice) {
  TomlFile file = parsed("[limits]\nmemory = 1\ntime = 2\n");
  EXPECT_EQ(file.root().table("limits").integer("memory"), 1);
  EXPECT_EQ(file.root().table("limits").integer("time"), 2);
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, a_missing_table_reads_as_an_empty_one) {
  TomlFile file = parsed("");
  EXPECT_EQ(file.root().table("device").table("limits").integer("memory", 5), 5);
  EXPECT_TRUE(file.root().tables("axis").empty());
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, a_list_of_tables_keeps_its_order_and_is_checked_key_by_key) {
  TomlFile file = parsed("[[axis]]\nname = \"rows\"\n[[axis]]\nname = \"cols\"\nnmae = 1\n");
  std::vector<std::string> names;
  for (TomlTable* axis : file.root().tables("axis")) names.push_back(axis->text("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"rows", "cols"}));
  EXPECT_EQ(mistake(file), "task.toml:5: there is no key 'nmae'; did you mean 'name'?");
}

TEST(Toml, a_list_of_tables_may_be_requested_twice) {
  TomlFile file = parsed("[[axis]]\nname = \"rows\"\n");
  EXPECT_EQ(file.root().tables("axis").size(), 1u);
  EXPECT_EQ(file.root().tables("axis").at(0)->text("name"), "rows");
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, keys_chosen_by_the_user_are_all_known) {
  TomlFile file = parsed("[models.fast]\nurl = \"a\"\n[models.deep]\nurl = \"b\"\n");
  TomlTable& models = file.root().table("models");
  EXPECT_EQ(models.names(), (std::vector<std::string>{"fast", "deep"}));
  EXPECT_EQ(models.table("fast").text("url"), "a");
  EXPECT_EQ(models.table("deep").text("url"), "b");
  EXPECT_EQ(mistake(file), "");
}

TEST(Toml, names_are_in_the_order_of_the_file) {
  TomlFile file = parsed("[axes.rows]\n[axes.cols]\n[axes.batch]\n[case]\nz = 1\na = 2\n");
  TomlTable& axes = file.root().table("axes");
  EXPECT_EQ(axes.names(), (std::vector<std::string>{"rows", "cols", "batch"}));
  EXPECT_EQ(file.root().table("case").names(), (std::vector<std::string>{"z", "a"}));
}

TEST(Toml, a_list_of_integers_has_integers_only) {
  TomlFile file = parsed("some = [1, -2]\nreal = [1, 2.5]\n");
  EXPECT_EQ(file.root().integers("some"), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(file.root().integers("none", {7}), std::vector<std::int64_t>{7});
  EXPECT_EQ(file.root().integers("real", {7}), std::vector<std::int64_t>{7});
  EXPECT_EQ(mistake(file), "task.toml:2: 'real' must be a list of integers, not a list");
}

TEST(Toml, reject_names_the_line_of_the_key) {
  TomlFile file = parsed("\n[axis]\nname = \"cosl\"\n");
  TomlTable& axis = file.root().table("axis");
  axis.text("name");
  axis.reject("name", "'cosl' is not an axis");
  EXPECT_EQ(mistake(file), "task.toml:3: 'cosl' is not an axis");
}

TEST(Toml, reject_of_a_key_that_is_missing_names_the_line_of_its_table) {
  TomlFile file = parsed("\n\n[axis]\n");
  file.root().table("axis").reject("name", "an axis needs a name");
  EXPECT_EQ(mistake(file), "task.toml:3: an axis needs a name");
}

TEST(Toml, reject_in_a_missing_table_names_the_file_without_a_line) {
  TomlFile file = parsed("a = 1\n");
  file.root().integer("a");
  file.root().table("axis").reject("name", "an axis needs a name");
  std::string message = mistake(file);
  EXPECT_TRUE(message.starts_with("task.toml:") && message.ends_with("an axis needs a name"))
      << message;
  EXPECT_EQ(message.find(":0:"), std::string::npos) << message;
}

TEST(Toml, a_syntax_error_has_its_line) {
  Result<TomlFile> file = TomlFile::parse("a = 1\nb = = 2\n", "task.toml");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, ErrorCode::bad_config);
  EXPECT_EQ(file.error().context.find("task.toml:2: "), 0u) << file.error().context;
}

TEST(Toml, a_missing_file_is_not_found) {
  Result<TomlFile> file = TomlFile::read("no/such/specgen.toml");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, ErrorCode::file_not_found);
}

TEST(Toml, strings_and_comments_may_have_any_character) {
  auto file =
      TomlFile::parse("a = \"ü\\\"ü\" # ü\r\nb = 'ü\\'\r\n\tc = \'\'\'ü'\nü\'\'\'\n", "x.toml");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->root().text("a"), "ü\"ü");
  EXPECT_EQ(file->root().text("b"), "ü\\");
  EXPECT_EQ(file->root().text("c"), "ü'\nü");
}

TEST(Toml, an_assertion_of_the_library_is_an_error_with_its_line) {
  for (std::string_view bad :
       {std::string_view("[)"), std::string_view("[\0", 2), std::string_view("Ο = 1"),
        std::string_view("0=0'\xeb\xbb\xbf\xef\xbb\xaf=~")}) {
    auto file = TomlFile::parse("a = 1\n" + std::string(bad) + "\nb = 2\n", "x.toml");
    ASSERT_FALSE(file) << bad;
    EXPECT_TRUE(file.error().context.starts_with("x.toml:2: ")) << file.error().context;
  }
}

}  // namespace
}  // namespace specgen
