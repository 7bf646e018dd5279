#include "tree/tidy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tree/duplicate_types.h"
#include "tree/retired_words.h"
#include "tree/tree_files.h"

namespace specgen::tidy {
namespace {

namespace fs = std::filesystem;

// What was found, as "rule:line", in the order of the lines.
std::vector<std::string> found(std::string_view path, std::string_view content) {
  std::vector<std::string> all;
  for (const Finding& finding : check_file(path, content)) {
    EXPECT_EQ(finding.path, path);
    EXPECT_FALSE(finding.message.empty());
    all.push_back(finding.rule + ":" + std::to_string(finding.line));
  }
  return all;
}

using Found = std::vector<std::string>;
const Found kNothing;

std::string including(std::string_view header) {
  return "#include \"" + std::string(header) + "\"\n";
}

// A header that keeps every rule, with one more line.
std::string header_with(std::string_view line) {
  return "#pragma once\n// What it is.\n" + std::string(line) + "\n";
}

// Joined here, so that this file does not find itself.
std::string joined(std::string_view begin, std::string_view end) {
  return std::string(begin) + std::string(end);
}

TEST(TidyOrder, a_folder_may_include_itself_and_what_is_below) {
  EXPECT_EQ(found("src/base/x.cc", including("base/text.h")), kNothing);
  EXPECT_EQ(found("src/schedule/x.cc", including("evaluate/task.h")), kNothing);
  EXPECT_EQ(found("src/compare/x.cc", including("report/html.h")), kNothing);
  EXPECT_EQ(found("src/cli/deeper/x.cc", including("base/text.h")), kNothing);
}

TEST(TidyOrder, a_folder_may_not_include_what_is_above) {
  EXPECT_EQ(found("src/base/x.cc", "\n" + including("runtime/loop.h")), Found{"order:2"});
  EXPECT_EQ(found("src/journal/x.cc", including("cli/main.h")), Found{"order:1"});
  EXPECT_EQ(found("src/search/x.cc", "#  include  \"simulate/x.h\"  // why\n"), Found{"order:1"});
}

TEST(TidyOrder, neighbours_on_one_level_may_not_include_each_other) {
  EXPECT_EQ(found("src/journal/x.cc", including("generate/model.h")), Found{"order:1"});
  EXPECT_EQ(found("src/simulate/x.cc", including("report/html.h")), Found{"order:1"});
}

TEST(TidyOrder, every_pair_of_folders_goes_one_way_at_most) {
  const std::vector<std::vector<std::string>> levels{{"base"},
                                                     {"runtime"},
                                                     {"journal", "generate", "evaluate"},
                                                     {"kvcache"},
                                                     {"schedule"},
                                                     {"speculate"},
                                                     {"search"},
                                                     {"simulate", "report"},
                                                     {"compare"},
                                                     {"cli"}};
  std::map<std::string, std::size_t> level_of;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (const std::string& folder : levels[level]) level_of[folder] = level;
  }
  for (const auto& [from, from_level] : level_of) {
    for (const auto& [to, to_level] : level_of) {
      bool allowed = from == to || to_level < from_level;
      EXPECT_EQ(found("src/" + from + "/x.cc", including(to + "/x.h")).empty(), allowed)
          << from << " includes " << to;
    }
  }
}

TEST(TidyOrder, an_include_that_is_commented_out_or_quoted_does_not_count) {
  EXPECT_EQ(found("src/base/x.cc", "// " + including("cli/x.h")), kNothing);
  EXPECT_EQ(found("src/base/x.cc", "auto s = R\"(\n" + including("cli/x.h") + ")\";\n"), kNothing);
}

TEST(TidyOrder, an_unknown_folder_is_found) {
  EXPECT_EQ(found("src/util/x.cc", "int x;\n"), Found{"order:1"});
  EXPECT_EQ(found("src/util/notes.txt", "notes\n"), Found{"order:1"});
  EXPECT_EQ(found("src/main.cc", "int x;\n"), Found{"order:1"});
  EXPECT_EQ(found("src/CMakeLists.txt", "# rooms\n"), kNothing);
}

TEST(TidyOrder, a_quoted_include_outside_the_folders_would_escape_the_order) {
  EXPECT_EQ(found("src/base/x.cc", including("text.h")), Found{"order:1"});
  EXPECT_EQ(found("src/base/x.cc", including("../cli/x.h")), Found{"order:1"});
  EXPECT_EQ(found("src/base/x.cc", including("/x.h")), Found{"order:1"});
  EXPECT_EQ(found("src/base/x.cc", including("bas/x.h")), Found{"order:1"});
}

TEST(TidyOrder, tests_and_benchmarks_may_include_anything) {
  EXPECT_EQ(found("tests/x.cc", including("cli/x.h") + including("tree/tidy.h")), kNothing);
  EXPECT_EQ(found("bench/x.cc", including("cli/x.h")), kNothing);
}

TEST(TidySeams, a_clock_belongs_to_the_runtime) {
  for (const char* code :
       {"auto t = std::chrono::steady_clock::now();", "using C = system_clock;",
        "high_resolution_clock::now();", "::clock_gettime(CLOCK_REALTIME, &now);",
        "gettimeofday(&tv, nullptr);", "auto t = std::time(&now);", "seed(time(nullptr));"}) {
    EXPECT_EQ(found("src/search/x.cc", joined(code, "\n")), Found{"seams:1"}) << code;
    EXPECT_EQ(found("src/runtime/x.cc", joined(code, "\n")), kNothing) << code;
    EXPECT_EQ(found("bench/x.cc", joined(code, "\n")), kNothing) << code;
  }
}

TEST(TidySeams, chance_belongs_to_random_in_tests_too) {
  for (const char* code :
       {"#include <random>", "std::random_device device;", "std::mt19937 engine;",
        "mt19937_64 engine;", "int n = rand() % 6;", "srand(1);", "::getrandom(buffer, 8, 0);",
        "std::normal_distribution<> d;", "std::uniform_int_distribution<int> d;"}) {
    EXPECT_EQ(found("src/evaluate/x.cc", joined(code, "\n")), Found{"seams:1"}) << code;
    EXPECT_EQ(found("tests/x.cc", joined(code, "\n")), Found{"seams:1"}) << code;
    EXPECT_EQ(found("tests/hacks/x.cc", joined(code, "\n")), kNothing) << code;
    EXPECT_EQ(found("src/base/random.cc", joined(code, "\n")), kNothing) << code;
    EXPECT_EQ(found("src/base/random_more.cc", joined(code, "\n")), Found{"seams:1"}) << code;
  }
}

TEST(TidySeams, a_thread_belongs_to_the_runtime) {
  for (const char* code :
       {"#include <thread>", "std::thread worker(f);", "std::jthread worker(f);",
        "auto later = std::async(f);", "pthread_create(&t, nullptr, f, nullptr);"}) {
    EXPECT_EQ(found("src/journal/x.cc", joined(code, "\n")), Found{"seams:1"}) << code;
    EXPECT_EQ(found("src/runtime/x.cc", joined(code, "\n")), kNothing) << code;
  }
}

TEST(TidySeams, the_environment_belongs_to_one_file) {
  for (const char* code :
       {"std::getenv(\"PATH\");", "secure_getenv(\"PATH\");", "char** e = environ;"}) {
    EXPECT_EQ(found("src/runtime/x.cc", joined(code, "\n")), Found{"seams:1"}) << code;
    EXPECT_EQ(found("src/base/environment.cc", joined(code, "\n")), kNothing) << code;
  }
}

TEST(TidySeams, a_longer_name_is_another_name) {
  EXPECT_EQ(found("src/search/x.cc",
                  "int operand(int);\n"
                  "auto t = driver.wall_time(nullptr);\n"
                  "std::time_t stamp;\n"
                  "auto all = whole_environment();\n"
                  "thread_local int depth;\n"
                  "my_steady_clock_name();\n"
                  "enum { normal_distribution };\n"
                  "std::thread_like worker;\n"),
            kNothing);
}

TEST(TidySeams, words_in_comments_and_literals_do_not_count) {
  EXPECT_EQ(found("src/search/x.cc",
                  "// steady_clock is not for us\n"
                  "/* rand() and\n"
                  "   std::thread */\n"
                  "auto a = \"getenv \\\" rand(\";\n"
                  "auto b = R\"x(std::async )\" rand( )x\";\n"),
            kNothing);
}

TEST(TidyCode, literals_and_comments_are_blanked_in_place) {
  EXPECT_EQ(code_only("a(\"b\\\"c\", 'd'); // e\nf"), "a(      ,    );     \nf");
  EXPECT_EQ(code_only("a /* b\nc */ d"), "a     \n     d");
  EXPECT_EQ(code_only("a = R\"x(b)\" \n c)x\"; d"), "a = R       \n     ; d");
  EXPECT_EQ(code_only("a = u8R\"(b)\" + c"), "a = u8R      + c");
}

TEST(TidyCode, what_looks_like_a_literal_is_not_always_one) {
  EXPECT_EQ(code_only("n = 1'000'000 + 0xff'ab'cd; m"), "n = 1'000'000 + 0xff'ab'cd; m");
  EXPECT_EQ(code_only("q = '\"'; r = '\\''; s"), "q =    ; r =     ; s");
  EXPECT_EQ(code_only("u = u8'x'; v"), "u = u8   ; v");
  EXPECT_EQ(code_only("a = \"// no\"; b"), "a =        ; b");
  EXPECT_EQ(code_only("a / b * c"), "a / b * c");
}

TEST(TidyCode, what_is_not_closed_ends_where_the_compiler_ends_it) {
  EXPECT_EQ(code_only("a \"b\nc"), "a   \nc");
  EXPECT_EQ(code_only("a // b \\\nc\nd"), "a       \n \nd");
  EXPECT_EQ(code_only("a /* b"), "a     ");
}

TEST(TidySize, a_file_of_600_lines_is_the_longest) {
  std::string lines;
  for (int i = 0; i < 600; ++i) lines += "x\n";
  for (const char* path : {"src/base/x.cc", "src/base/CMakeLists.txt", "cmake/x.cmake",
                           "scripts/x.py", "scripts/x.sh", "Makefile"}) {
    EXPECT_EQ(found(path, lines), kNothing) << path;
    EXPECT_EQ(found(path, lines + "x\n"), Found{"size:601"}) << path;
  }
  EXPECT_EQ(found("scripts/setup", "#!/bin/sh\n" + lines), Found{"size:601"});
  EXPECT_EQ(found("docs/long.md", lines + "x\n"), kNothing);
}

TEST(TidySize, a_line_is_measured_in_characters) {
  std::string line = "// " + std::string(117, 'x');
  EXPECT_EQ(found("src/base/x.cc", line + "\n"), kNothing);
  EXPECT_EQ(found("src/base/x.cc", line + "x\n"), Found{"size:1"});
  std::string umlauts = "// ";
  for (int i = 0; i < 117; ++i) umlauts += "\xc3\xbc";
  EXPECT_EQ(found("src/base/x.cc", umlauts + "\n"), kNothing);
  EXPECT_EQ(found("src/base/x.cc", umlauts + "\xc3\xbc\n"), Found{"size:1"});
  EXPECT_EQ(found("docs/x.md", line + line + "\n"), kNothing);
}

TEST(TidySpace, nothing_stands_at_the_end_of_a_line_or_file) {
  EXPECT_EQ(found("src/base/x.cc", "int a;\nint b; \n"), Found{"space:2"});
  EXPECT_EQ(found("cmake/x.cmake", "set(a)\t\n"), Found{"space:1"});
  EXPECT_EQ(found("src/base/x.cc", "int a;\r\n"), Found{"space:1"});
  EXPECT_EQ(found("src/base/x.cc", "int a;\nint b;"), Found{"space:2"});
  EXPECT_EQ(found("src/base/x.cc", "int a;\n\nint b;\n"), kNothing);
  EXPECT_EQ(found("docs/x.md", "two spaces break a line  \nand"), kNothing);
}

TEST(TidySpace, tabs_are_for_makefiles) {
  EXPECT_EQ(found("src/base/x.cc", "\tint a;\n"), Found{"space:1"});
  EXPECT_EQ(found("Makefile", "all:\n\techo\n"), kNothing);
}

TEST(TidyHeader, begins_with_its_guard_and_says_what_it_is) {
  EXPECT_EQ(found("src/base/x.h", header_with("int x;")), kNothing);
  EXPECT_EQ(found("src/base/x.h", "// What it is.\n#pragma once\n"), Found{"header:1"});
  EXPECT_EQ(found("src/base/x.h", ""), Found{"header:1"});
  EXPECT_EQ(found("src/base/x.h", "#pragma once\n\n// Late.\n"), Found{"header:2"});
  EXPECT_EQ(found("tests/x.h", "#pragma once\nint x;\n"), Found{"header:2"});
  EXPECT_EQ(found("tasks/x.h", "int x;\n"), kNothing);
}

TEST(TidyHeader, opens_no_namespace_for_others) {
  EXPECT_EQ(found("src/base/x.h", header_with("using namespace std;")), Found{"header:3"});
  EXPECT_EQ(found("src/base/x.h", header_with("// using namespace std;")), kNothing);
  EXPECT_EQ(found("src/base/x.h", header_with("using namespace_of = int;")), kNothing);
  EXPECT_EQ(found("src/base/x.cc", "using namespace std::chrono_literals;\n"), kNothing);
}

TEST(TidyHeader, includes_ours_the_standard_and_the_system_only) {
  for (const char* name :
       {"<string_view>", "<cstdint>", "<unistd.h>", "<signal.h>", "<sys/types.h>",
        "<linux/futex.h>", "<netinet/in.h>", "<arpa/inet.h>", "<fmt/core.h>", "\"base/text.h\""}) {
    EXPECT_EQ(found("src/base/x.h", header_with(joined("#include ", name))), kNothing) << name;
  }
  for (const char* name : {"<boost/json.hpp>", "<fmt/format.h>", "<toml++/toml.h>", "<sqlite3.h>",
                           "<zlib.h>", "<curl/curl.h>", "<cuda.h>"}) {
    std::string line = joined("#include ", name);
    EXPECT_EQ(found("src/base/x.h", header_with(line)), Found{"header:3"}) << name;
    EXPECT_EQ(found("src/base/x.cc", line + "\n"), kNothing) << name;
    EXPECT_EQ(found("src/base/x.h", header_with("// " + line)), kNothing) << name;
    EXPECT_EQ(found("tests/x.h", header_with(line)), kNothing) << name;
  }
}

TEST(TidyHeader, only_the_json_codec_includes_boost_and_only_sources_include_the_codec) {
  for (const char* name : {"<boost/json.hpp>", "<boost/describe.hpp>"}) {
    std::string line = joined("#include ", name);
    EXPECT_EQ(found("src/base/json_codec.h", header_with(line)), kNothing) << name;
    EXPECT_EQ(found("src/base/json.h", header_with(line)), Found{"header:3"}) << name;
  }
  EXPECT_EQ(found("src/base/json_codec.h", header_with("#include <curl/curl.h>")),
            Found{"header:3"});
  std::string codec = "#include \"base/json_codec.h\"";
  EXPECT_EQ(found("src/search/x.h", header_with(codec)), Found{"header:3"});
  EXPECT_EQ(found("src/search/x.cc", codec + "\n"), kNothing);
}

TEST(TidyName, files_are_named_in_snake_case) {
  EXPECT_EQ(found("src/base/two_words2_test.cc", "int x;\n"), kNothing);
  for (const char* name : {"TwoWords.cc", "two-words.cc", "_x.cc", "2x.cc", "two.words.cc"}) {
    EXPECT_EQ(found(joined("src/base/", name), "int x;\n"), Found{"name:1"}) << name;
    EXPECT_EQ(found(joined("tests/e2e/", name), "int x;\n"), Found{"name:1"}) << name;
  }
  EXPECT_EQ(found("tests/Read-Me.md", "x\n"), kNothing);
}

TEST(TidyUnfinished, a_mark_is_found_in_any_text) {
  for (const std::string& mark :
       {joined("TO", "DO"), joined("FIX", "ME"), joined("XX", "X"), joined("HA", "CK")}) {
    EXPECT_EQ(found("src/base/x.cc", "\n// " + mark + ": later\n"), Found{"unfinished:2"}) << mark;
    EXPECT_EQ(found("docs/x.md", mark + "\n"), Found{"unfinished:1"}) << mark;
    EXPECT_EQ(found("scripts/setup", "# (" + mark + ")\n"), Found{"unfinished:1"}) << mark;
    EXPECT_EQ(found("docs/x.md", mark + "X " + mark + "_LIST a" + mark + "\n"), kNothing) << mark;
    EXPECT_EQ(found("docs/picture.png", std::string(1, '\0') + mark), kNothing) << mark;
  }
  EXPECT_EQ(found("docs/x.md", "a hack to do; mktemp a.XXXXXX\n"), kNothing);
}

TEST(TidyMachine, a_path_of_one_machine_is_found_in_any_text) {
  for (const char* name : {"/work", "/home", "/root"}) {
    std::string path = joined(name, "/");
    EXPECT_EQ(found("docs/x.md", "see " + path + "x\n"), Found{"machine:1"}) << path;
    EXPECT_EQ(found("src/base/x.cc", "auto p = \"" + path + "\";\n"), Found{"machine:1"}) << path;
    EXPECT_EQ(found("scripts/setup", "PATH=/bin:" + path + "bin\n"), Found{"machine:1"}) << path;
    EXPECT_EQ(found("scripts/setup", "a" + path + " " + path + "\n"), Found{"machine:1"}) << path;
    EXPECT_EQ(found("docs/x.md", "https://example.org" + path + "x ${base}" + path + "x\n"),
              kNothing);
    EXPECT_EQ(found("docs/x.md", joined("--tmpfs ", name) + "\n"), kNothing);
  }
}

TEST(TidyFindings, come_in_the_order_of_the_lines) {
  std::string text = "#include <random>\nint a; \n" + including("cli/x.h") + "srand(1); \n";
  EXPECT_EQ(found("src/base/x.cc", text),
            (Found{"seams:1", "space:2", "order:3", "seams:4", "space:4"}));
}

TEST(TidyTree, what_git_ignores_is_left_alone) {
  const std::string_view gitignore = "# built\n/runs/\n*.pyc\n.cache/\nnotes.txt\n\n";
  EXPECT_TRUE(is_ignored("runs", true, gitignore));
  EXPECT_FALSE(is_ignored("runs", false, gitignore));
  EXPECT_FALSE(is_ignored("tests/runs", true, gitignore));
  EXPECT_TRUE(is_ignored("tests/a.pyc", false, gitignore));
  EXPECT_FALSE(is_ignored("tests/a.py", false, gitignore));
  EXPECT_TRUE(is_ignored("tests/.cache", true, gitignore));
  EXPECT_TRUE(is_ignored("docs/notes.txt", false, gitignore));
  EXPECT_TRUE(is_ignored("build", true, ""));
  EXPECT_TRUE(is_ignored(".git", true, ""));
  EXPECT_FALSE(is_ignored("src/build", true, ""));
  EXPECT_FALSE(is_ignored(".gitignore", false, ""));
}

TEST(TidyHeader, of_a_source_file_s_own_is_included_first) {
  EXPECT_EQ(found("src/base/x.cc", including("base/x.h") + including("base/text.h")), kNothing);
  EXPECT_EQ(found("src/base/x.cc", including("base/text.h") + including("base/x.h")),
            Found{"header:2"});
  EXPECT_EQ(found("src/base/x.cc", including("base/text.h")), kNothing);
}

// The rules of retired_words.h, as found().
Found retired(std::string_view path, std::string_view content) {
  Found all;
  for (const Finding& finding : check_retired_words(path, content)) {
    all.push_back(finding.rule + ":" + std::to_string(finding.line));
  }
  return all;
}

TEST(RetiredWords, are_found_in_prose_in_names_and_in_messages) {
  EXPECT_EQ(retired("src/x.cc", joined("// It me", "nds the kernel.\n")), Found{"words:1"});
  EXPECT_EQ(retired("src/x.cc", joined("int mo", "st_forks;\n")), Found{"words:1"});
  EXPECT_EQ(retired("src/x.cc", joined("struct SearchWor", "ds {\n")), Found{"words:1"});
  EXPECT_EQ(retired("docs/x.md", joined("\nTo", "ld is the truth.\n")), Found{"words:2"});
  EXPECT_EQ(retired("Makefile", joined("# the ro", "oms\n")), Found{"words:1"});
}

TEST(RetiredWords, are_left_alone_inside_other_words_and_in_names_of_other_projects) {
  EXPECT_EQ(retired("src/x.cc", "// recommends a blend of calendars in the classroom\n"), kNothing);
  EXPECT_EQ(retired("src/x.cc", "json[\"enable_thinking\"] = on;\n"), kNothing);
  EXPECT_EQ(retired("src/x.cc", "at_most_once, the_least_of, almost_done\n"), kNothing);
}

TEST(RetiredWords, may_be_read_from_files_of_users) {
  EXPECT_EQ(retired("src/x.cc", joined("{\"me", "nd\", Role::repair},  // retired name\n")),
            kNothing);
}

TEST(DuplicateTypes, of_one_namespace_are_found_across_files) {
  std::string one = "namespace specgen {\nclass Loop final {\n};\n}  // namespace specgen\n";
  auto findings = find_duplicate_types({{"src/a.h", one}, {"src/b.cc", one}});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].path, "src/b.cc");
  EXPECT_EQ(findings[0].line, 2);
}

TEST(DuplicateTypes, do_not_count_in_unnamed_namespaces_inside_types_or_as_declarations) {
  std::string hidden = "namespace specgen {\nnamespace {\nstruct Row {\n};\n}\n}\n";
  std::string nested = "namespace specgen {\nstruct Outer {\n  struct Row {\n  };\n};\n}\n";
  std::string declared = "namespace specgen {\nstruct Row;\nvoid f(struct Row*) {\n}\n}\n";
  std::string defined = "namespace specgen {\nenum class Row : int { a };\n}\n";
  EXPECT_EQ(types_defined_in(defined).size(), 1U);
  EXPECT_TRUE(find_duplicate_types(
                  {{"a", hidden}, {"b", nested}, {"c", declared}, {"d", defined}, {"e", hidden}})
                  .empty());
}

TEST(TidyTree, defines_every_type_once) {
  const fs::path root(SPECGEN_SOURCE_DIR);
  std::map<std::string, std::string> sources;
  for (const std::string& path : files_of(root)) {
    bool is_source = path.starts_with("src/") && (path.ends_with(".h") || path.ends_with(".cc"));
    if (is_source && !path.ends_with("_test.cc")) sources[path] = content_of(root / path);
  }
  ASSERT_GT(sources.size(), 100U) << "not the tree: " << root;
  for (const Finding& finding : find_duplicate_types(sources)) {
    ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.message;
  }
}

TEST(TidyTree, uses_no_retired_word) {
  const fs::path root(SPECGEN_SOURCE_DIR);
  for (const std::string& path : files_of(root)) {
    for (const Finding& finding : check_retired_words(path, content_of(root / path))) {
      ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.message;
    }
  }
}

TEST(TidyTree, the_tree_is_tidy) {
  const fs::path root(SPECGEN_SOURCE_DIR);
  std::vector<std::string> files = files_of(root);
  ASSERT_TRUE(std::ranges::binary_search(files, "tests/tree/tidy_test.cc"))
      << "not the tree: " << root;
  for (const std::string& path : files) {
    for (const Finding& finding : check_file(path, content_of(root / path))) {
      ADD_FAILURE() << finding.path << ":" << finding.line << ": " << finding.message;
    }
  }
}

}  // namespace
}  // namespace specgen::tidy
