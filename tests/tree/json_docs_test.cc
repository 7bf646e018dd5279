// docs/reference/json.md is true: every shape in it is compared with what its command prints.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "runtime/subprocess.h"
#include "support/run_folder.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

// Where `value` does not have the shape; empty if it does.
std::string difference(const Json& shape, const Json& value, const std::string& at);

std::string difference_in_text(std::string_view shape, const Json& value, const std::string& at) {
  auto wrong = [&] {
    return fmt::format("{}: {} is not '{}'", at, boost::json::serialize(value), shape);
  };
  if (shape.ends_with('?')) {
    if (value.is_null()) return {};
    shape.remove_suffix(1);
  }
  bool matches = false;
  if (shape == "text") {
    matches = value.is_string();
  } else if (shape == "whole") {
    matches = value.is_int64() || value.is_uint64();
  } else if (shape == "number") {
    matches = value.is_number();
  } else if (shape == "flag") {
    matches = value.is_bool();
  } else if (value.is_string()) {
    std::string_view text = value.get_string();
    if (shape.starts_with('=')) {
      matches = shape.substr(1) == text;
    } else {
      for (std::string_view choice : split(shape, '|')) matches = matches || choice == text;
    }
  }
  return matches ? std::string() : wrong();
}

std::string difference_in_object(const boost::json::object& shape, const Json& value,
                                 const std::string& at) {
  if (!value.is_object()) return at + ": it is not an object";
  constexpr std::string_view kOrNull = "|null";
  auto member = value.get_object().begin(), end = value.get_object().end();
  for (const auto& [key, member_shape] : shape) {
    std::string_view name = key;
    if (name == "*") {
      for (; member != end; ++member) {
        std::string found = difference(member_shape, member->value(), at + ".*");
        if (!found.empty()) return found;
      }
      continue;
    }
    bool may_be_missing = name.ends_with('?');
    if (may_be_missing) name.remove_suffix(1);
    bool may_be_null = name.ends_with(kOrNull);
    if (may_be_null) name.remove_suffix(kOrNull.size());
    bool here = member != end && member->key() == name;
    if (here && may_be_null && member->value().is_null()) {
      ++member;
      continue;
    }
    if (!here && may_be_missing) continue;
    if (!here) return fmt::format("{}: the next key is not '{}'", at, name);
    std::string found = difference(member_shape, member->value(), fmt::format("{}.{}", at, name));
    if (!found.empty()) return found;
    ++member;
  }
  if (member == end) return {};
  return fmt::format("{}: '{}' is not documented", at, std::string_view(member->key()));
}

std::string difference(const Json& shape, const Json& value, const std::string& at) {
  if (const auto* text = shape.if_string()) return difference_in_text(*text, value, at);
  if (const auto* object = shape.if_object()) return difference_in_object(*object, value, at);
  if (!value.is_array()) return at + ": it is not a list";
  for (std::size_t i = 0; i < value.get_array().size(); ++i) {
    std::string found = difference(shape.at(0), value.at(i), fmt::format("{}[{}]", at, i));
    if (!found.empty()) return found;
  }
  return {};
}

struct Documented {
  std::vector<std::string> command;
  Json shape;
};

std::vector<Documented> documented(std::string_view text) {
  std::vector<Documented> all;
  constexpr std::string_view kOpen = "\n```shape ";
  for (std::size_t at = text.find(kOpen); at != std::string_view::npos; at = text.find(kOpen, at)) {
    at += kOpen.size();
    std::string_view command = first_line(text.substr(at));
    std::size_t start = at + command.size(), end = text.find("\n```", start);
    Documented block;
    for (std::string_view word : split(command, ' ')) block.command.emplace_back(word);
    auto shape = parse_json(text.substr(start, end - start));
    EXPECT_TRUE(shape) << command << ": " << (shape ? "" : shape.error().text());
    if (shape) block.shape = *shape;
    all.push_back(std::move(block));
    at = end;
  }
  return all;
}

TEST(JsonDocs, show_what_the_commands_print) {
  int fresh = 0;
  std::string page = read_file(SPECGEN_SOURCE_DIR "/docs/reference/json.md").value();
  std::vector<Documented> blocks = documented(page);
  ASSERT_GE(blocks.size(), 4U);
  // The commands that look at runs get one to look at.
  auto runs = TemporaryFolder::make().value();
  std::string run = (runs.path() / "run").string();
  std::string kernel = read_file(SPECGEN_SOURCE_DIR "/tasks/softmax/baseline.cc").value();
  ASSERT_TRUE(write_run_folder(run, run_won_by({"softmax", "tasks/softmax", "cpu"}, kernel)));
  RealDriver driver(1);
  Loop loop(driver);
  Processes processes(loop, driver);
  for (Documented& block : blocks) {
    std::string name = join(block.command, " ");
    std::ranges::replace(block.command, "RUN", run);
    std::ranges::replace(block.command, "RUNS", runs.path().string());
    std::ranges::replace(block.command, "NEW",
                         (runs.path() / fmt::format("new-{}", ++fresh)).string());
    block.command[0] = SPECGEN_BINARY_FOLDER "/" + block.command[0];
    auto finished = loop.run(
        processes.run({.argv = block.command, .folder = SPECGEN_SOURCE_DIR, .time_limit = 200s}));
    ASSERT_TRUE(finished) << name << ": " << finished.error().text();
    auto printed = parse_json(finished->output);
    ASSERT_TRUE(printed) << name << ": " << printed.error().text();
    EXPECT_EQ(difference(block.shape, *printed, name), "");
  }
}

TEST(JsonDocs, a_difference_is_seen) {
  auto compare = [](const char* shape, const char* value) {
    return difference(parse_json(shape).value(), parse_json(value).value(), "x");
  };
  EXPECT_EQ(
      compare(R"({"a": "text", "b?": "whole", "c": ["flag?"]})", R"({"a": "", "c": [true, null]})"),
      "");
  EXPECT_EQ(compare(R"({"a": "text"})", R"({"a": 1})"), "x.a: 1 is not 'text'");
  EXPECT_EQ(compare(R"({"a": "text"})", R"({"a": "", "b": 1})"), "x: 'b' is not documented");
  EXPECT_EQ(compare(R"({"a": "text", "b": "flag"})", R"({"a": ""})"), "x: the next key is not 'b'");
  EXPECT_EQ(compare(R"({"a|null": {"b": "flag"}, "c": "flag"})", R"({"a": null, "c": true})"), "");
  EXPECT_EQ(compare(R"({"a|null": {"b": "flag"}})", R"({"a": {"b": 1}})"),
            "x.a.b: 1 is not 'flag'");
  EXPECT_EQ(compare(R"({"a|null": {"b": "flag"}})", "{}"), "x: the next key is not 'a'");
  EXPECT_EQ(compare(R"({"*": "whole"})", R"({"a": 1, "b": 2})"), "");
  EXPECT_EQ(compare(R"({"*": "whole"})", R"({"a": 1, "b": true})"), "x.*: true is not 'whole'");
  EXPECT_EQ(compare(R"({"a": "on|off"})", R"({"a": "of"})"), R"(x.a: "of" is not 'on|off')");
  EXPECT_EQ(compare(R"(["whole"])", R"([1, 1.5])"), "x[1]: 1.5E0 is not 'whole'");
}

}  // namespace
}  // namespace specgen
