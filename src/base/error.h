#pragma once
// Error: a value that says what happened and what to do about it. Every kind of error has a number,
// a message and advice in one table (error.cc); the numbers are stable, the texts may change.
//
//   return fail(ErrorCode::journal_damaged, "runs/a/journal.db: row 17 fails its checksum");
//
// prints as
//
//   error E301: the journal is damaged: runs/a/journal.db: row 17 fails its checksum
//     what to do: restore the file from a copy, or start a new run

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace specgen {

enum class ErrorCode : std::uint16_t {
  // 1xx: what the user typed or wrote
  bad_usage = 101,
  unknown_name = 102,
  bad_config = 103,
  // 2xx: the machine and its system calls
  system_call = 201,
  file_not_found = 202,
  file_too_large = 203,
  disk_full = 204,
  tool_missing = 205,
  timeout = 206,
  // 3xx: the journal and its artifacts
  journal_damaged = 301,
  journal_newer = 302,
  journal_locked = 303,
  journal_failed = 304,
  journal_overloaded = 305,
  artifact_damaged = 306,
  journal_foreign = 307,
  entry_too_large = 308,
  // 4xx: subprocesses
  spawn_failed = 401,
  output_limit = 402,
  // 5xx: messages from other programs
  bad_json = 501,
  bad_message = 502,
  // 6xx: tasks and their evaluation
  bad_task = 601,
  bad_expression = 602,
  sandbox_missing = 603,
  device_missing = 604,
  device_failed = 605,
  device_busy = 606,
  harness_failed = 607,
  // 7xx: models and their servers
  bad_url = 701,
  endpoint_unreachable = 702,
  stream_broken = 703,
  address_in_use = 704,
  http_status = 705,
  unknown_model = 711,
  key_missing = 712,
  not_an_endpoint = 713,
  model_refused = 714,
  model_overloaded = 715,
  model_silent = 716,
  key_refused = 717,
  bad_stream = 720,
  cassette_damaged = 721,
  cassette_newer = 722,
  not_recorded = 723,
  // 8xx: speculation, search and simulation
  bad_scenario = 801,
  invariant_broken = 802,
  bad_triggers = 811,
  bad_prompt = 821,
  budget_spent = 822,
  no_run = 823,
};

// The exit status of a command that ends with an error of this kind.
enum class ExitCode : int { done = 0, failed = 1, usage = 2, environment = 3 };

struct ErrorKind {
  ErrorCode code;
  std::string_view message;  // what happened, in general
  std::string_view advice;   // what to do
  ExitCode exit_code;
};

std::span<const ErrorKind> error_table();
const ErrorKind& kind_of(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string context;  // the details: file, line, name, the system's message
  std::string advice;   // replaces the table's advice if not empty

  std::string_view what_to_do() const { return advice.empty() ? kind_of(code).advice : advice; }
  ExitCode exit_code() const { return kind_of(code).exit_code; }
  std::string summary() const;  // one line: number, message, context
  std::string text() const;     // the summary, and on a second line what to do
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorCode code, std::string context, std::string advice = {}) {
  return std::unexpected(Error{code, std::move(context), std::move(advice)});
}

// For a failed system call: appends the message of errno, and maps ENOSPC and ENOENT to their own codes.
std::unexpected<Error> fail_errno(std::string_view what, int error_number);

}  // namespace specgen

// Unwraps a Result or returns its error:  int n = TRY(parse(text));   in coroutines CO_TRY.
#define SG_TRY_NAMED(leave, expression, result)         \
  __extension__({                                       \
    auto result = (expression);                         \
    if (!result) [[unlikely]]                           \
      leave std::unexpected(std::move(result).error()); \
    ::specgen::detail::unwrap(std::move(result));       \
  })
// Numbered, so that a TRY inside a TRY does not shadow.
#define SG_TRY_JOIN(leave, expression, number) SG_TRY_NAMED(leave, expression, sg_result_##number)
#define SG_TRY_WITH(leave, expression, number) SG_TRY_JOIN(leave, expression, number)
#define TRY(expression) SG_TRY_WITH(return, expression, __COUNTER__)
#define CO_TRY(expression) SG_TRY_WITH(co_return, expression, __COUNTER__)

namespace specgen::detail {
template <class T, class E>  // E: Error, or another module's error type
T unwrap(std::expected<T, E>&& result) {
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
}  // namespace specgen::detail
