#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace specgen {
namespace {

// The compiler prints an enumerator by its name, and other values as a cast: so the codes
// can be enumerated, and a code without a row is found without a second list.
template <ErrorCode code>
bool is_declared() {
  return std::string_view(__PRETTY_FUNCTION__).find("(specgen::ErrorCode)") ==
         std::string_view::npos;
}

template <std::uint16_t... numbers>
std::vector<int> declared_codes(std::integer_sequence<std::uint16_t, numbers...>) {
  const bool declared[] = {is_declared<ErrorCode{numbers}>()...};
  std::vector<int> all;
  for (int number = 0; bool is : declared) {
    if (is) all.push_back(number);
    ++number;
  }
  return all;
}

TEST(Error, every_code_has_a_row_and_every_row_a_code) {
  std::vector<int> in_table;
  for (const ErrorKind& kind : error_table()) in_table.push_back(static_cast<int>(kind.code));
  EXPECT_EQ(in_table, declared_codes(std::make_integer_sequence<std::uint16_t, 1000>()));
}

TEST(Error, every_kind_says_what_happened_and_what_to_do) {
  for (const ErrorKind& kind : error_table()) {
    SCOPED_TRACE(static_cast<int>(kind.code));
    EXPECT_FALSE(kind.message.empty());
    EXPECT_FALSE(kind.advice.empty());
    EXPECT_NE(kind.exit_code, ExitCode::done) << "an error never ends a command well";
    EXPECT_EQ(&kind_of(kind.code), &kind);
  }
}

TEST(Error, numbers_and_exit_codes_are_stable) {
  EXPECT_EQ(static_cast<int>(ErrorCode::bad_usage), 101);
  EXPECT_EQ(static_cast<int>(ErrorCode::bad_config), 103);
  EXPECT_EQ(static_cast<int>(ErrorCode::disk_full), 204);
  EXPECT_EQ(static_cast<int>(ErrorCode::journal_damaged), 301);
  EXPECT_EQ(static_cast<int>(ErrorCode::bad_json), 501);
  EXPECT_EQ(static_cast<int>(kind_of(ErrorCode::bad_usage).exit_code), 2);
  EXPECT_EQ(static_cast<int>(kind_of(ErrorCode::timeout).exit_code), 1);
  EXPECT_EQ(static_cast<int>(kind_of(ErrorCode::tool_missing).exit_code), 3);
}

TEST(Error, text_has_the_number_the_context_and_the_advice) {
  Error error{ErrorCode::journal_damaged, "runs/a: row 17 fails its checksum", ""};
  EXPECT_EQ(error.summary(),
            "error E301: the journal is damaged: runs/a: row 17 fails its checksum");
  std::string advice(kind_of(ErrorCode::journal_damaged).advice);
  EXPECT_EQ(error.text(), error.summary() + "\n  what to do: " + advice);
}

TEST(Error, specific_advice_replaces_that_of_the_table) {
  Error error{ErrorCode::bad_usage, "", "write --seed 7"};
  EXPECT_EQ(error.text(), "error E101: invalid command line\n  what to do: write --seed 7");
}

TEST(Error, a_failed_system_call_has_the_message_of_errno) {
  Error refused = fail_errno("journal.db", EACCES).error();
  EXPECT_EQ(refused.code, ErrorCode::system_call);
  EXPECT_EQ(refused.context, "journal.db: Permission denied");
  EXPECT_EQ(fail_errno("journal.db", ENOSPC).error().code, ErrorCode::disk_full);
  EXPECT_EQ(fail_errno("journal.db", EDQUOT).error().code, ErrorCode::disk_full);
  EXPECT_EQ(fail_errno("journal.db", ENOENT).error().code, ErrorCode::file_not_found);
}

Result<int> half(int number) {
  if (number % 2 != 0) return fail(ErrorCode::bad_usage, std::to_string(number) + " is odd");
  return number / 2;
}

Result<int> quarter(int number, bool& went_on) {
  int once = TRY(half(number));
  went_on = true;
  return TRY(half(TRY(Result<int>(once))));  // nested
}

TEST(Error, try_returns_the_value) {
  bool went_on = false;
  EXPECT_EQ(quarter(12, went_on).value(), 3);
  EXPECT_TRUE(went_on);
}

TEST(Error, try_returns_the_first_error_unchanged) {
  bool went_on = false;
  Result<int> left = quarter(7, went_on);
  ASSERT_FALSE(left.has_value());
  EXPECT_FALSE(went_on);
  EXPECT_EQ(left.error().context, "7 is odd");
  EXPECT_EQ(quarter(6, went_on).error().context, "3 is odd");
}

Result<std::string> after(Result<void> first, Result<std::unique_ptr<int>> second) {
  TRY(std::move(first));
  std::unique_ptr<int> owned = TRY(std::move(second));
  return std::to_string(*owned);
}

TEST(Error, try_accepts_void_and_move_only_results) {
  EXPECT_EQ(after({}, std::make_unique<int>(5)).value(), "5");
  EXPECT_EQ(after(fail(ErrorCode::timeout, ""), std::make_unique<int>(5)).error().code,
            ErrorCode::timeout);
}

}  // namespace
}  // namespace specgen
