#include "generate/openai/attempt_failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxMessage = 300;
constexpr auto kMaxWait = std::chrono::hours(1);  // a date may be wrong by years

bool is_overload(int status) {
  return status == 429 || status == 503 || status == 529;
}
bool is_transient(int status) {
  return is_overload(status) || status == 408 || status == 500 || status == 502 || status == 504;
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int> integer(std::string_view text) {
  int value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form of a date that HTTP servers write today.
std::optional<WallTime> http_date(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (text.size() != 29 || text[3] != ',' || !text.ends_with(" GMT")) return std::nullopt;
  auto month = std::ranges::find(kMonths, text.substr(8, 3));
  auto day = integer(text.substr(5, 2)), year = integer(text.substr(12, 4));
  auto hour = integer(text.substr(17, 2)), minute = integer(text.substr(20, 2));
  auto second = integer(text.substr(23, 2));
  if (month == kMonths.end() || !day || !year || !hour || !minute || !second) return std::nullopt;
  std::chrono::year_month_day date{
      std::chrono::year(*year),
      std::chrono::month(static_cast<unsigned>(month - kMonths.begin()) + 1),
      std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  std::int64_t seconds = ((days * 24 + *hour) * 60 + *minute) * 60 + *second;
  return WallTime{seconds * 1000};
}

std::string shortened(std::string_view message) {
  std::string text = as_utf8(std::string(trim(message.substr(0, kMaxMessage))));
  std::ranges::replace_if(text, [](char c) { return c >= 0 && c < ' '; }, ' ');
  return text;
}

std::string message_of(const ServerFault& fault) {
  std::string text = shortened(fault.message);
  if (text.empty()) text = shortened(fault.type);
  return text.empty() ? "it gave no reason" : text;
}

bool is_json(std::string_view content_type) {
  return content_type.contains("json");
}

AttemptFailure plain(ErrorCode code, std::string context, std::string_view key) {
  return {.error = Error{code, without_key(std::move(context), key), {}}};
}

}  // namespace

std::string without_key(std::string text, std::string_view key) {
  constexpr std::size_t kMinSecret = 4;  // a shorter key occurs in ordinary text
  if (key.size() < kMinSecret) return text;
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
    text.replace(at, key.size(), "[key]");
  }
  return text;
}

Duration RetryPolicy::wait_after(int failed, Random& random) const {
  Duration wait = first_wait;
  for (int i = 1; i < failed && wait < max_wait; ++i) wait *= 2;
  if (wait > max_wait) wait = max_wait;
  return from_seconds(seconds(wait) * random.uniform(0.5, 1.0));
}

std::optional<Duration> requested_wait(const HttpHeaders& headers, WallTime now) {
  auto bounded = [](double seconds) -> std::optional<Duration> {
    if (!(seconds >= 0)) return Duration::zero();
    return std::min<Duration>(from_seconds(std::min(seconds, 1e6)), kMaxWait);
  };
  if (auto ms = number(trim(header_value(headers, "retry-after-ms")))) return bounded(*ms / 1e3);
  std::string_view value = trim(header_value(headers, "retry-after"));
  if (auto wait = number(value)) return bounded(*wait);
  if (auto date = http_date(value)) {
    return bounded(static_cast<double>(date->ms_since_1970 - now.ms_since_1970) / 1e3);
  }
  return std::nullopt;
}

AttemptFailure failure_of_answer(const HttpHead& head, std::string_view body, WallTime now,
                                 std::string_view key) {
  int status = head.status;
  std::optional<ServerFault> fault = fault_in_body(body);
  std::string_view type = header_value(head.headers, "content-type");
  std::string said = fault ? message_of(*fault) : shortened(body);
  std::string context = fmt::format("HTTP {}: {}", status, said.empty() ? "no body" : said);

  if (status >= 200 && status < 300) {
    if (fault) return plain(ErrorCode::model_refused, std::move(context), key);
    std::string what = type.empty() ? "no content type" : shortened(type);
    return plain(ErrorCode::not_an_endpoint,
                 fmt::format("it answers with {} instead of a stream: {}", what, said), key);
  }
  if (status >= 300 && status < 400) {
    std::string_view to = header_value(head.headers, "location");
    return plain(ErrorCode::not_an_endpoint,
                 fmt::format("HTTP {}: it redirects to '{}', where the key is not sent", status,
                             shortened(to)),
                 key);
  }
  if (status == 401 || status == 403) return plain(ErrorCode::key_refused, std::move(context), key);
  if (is_transient(status)) {
    bool overload = is_overload(status);
    AttemptFailure failure = plain(
        overload ? ErrorCode::model_overloaded : ErrorCode::stream_broken, std::move(context), key);
    failure.worth_retrying = true;
    failure.throttled = status == 429;
    failure.server_is_ill = status != 429;
    failure.wait = requested_wait(head.headers, now);
    return failure;
  }
  // An unknown model is reported as JSON, an unknown path usually as a page.
  bool no_such_path = (status == 404 || status == 405) && !fault && !is_json(type);
  AttemptFailure failure =
      plain(no_such_path ? ErrorCode::not_an_endpoint : ErrorCode::model_refused,
            std::move(context), key);
  failure.form_refused = status == 400 || status == 404 || status == 405 || status == 415 ||
                         status == 422 || status == 501;
  return failure;
}

AttemptFailure failure_of_connection(Error error, std::string_view key) {
  error.context = without_key(std::move(error.context), key);
  error.advice = without_key(std::move(error.advice), key);
  bool is_usage_error = error.exit_code() == ExitCode::usage;
  return {.error = std::move(error),
          .worth_retrying = !is_usage_error,
          .server_is_ill = !is_usage_error};
}

AttemptFailure failure_of_event(const ServerFault& fault, std::string_view key) {
  std::string code = fault.code.empty() ? fault.type : fault.code;
  std::string context =
      code.empty() ? message_of(fault) : fmt::format("{} ({})", message_of(fault), shortened(code));
  int status = integer(fault.code).value_or(0);
  bool transient = is_transient(status);
  AttemptFailure failure =
      plain(is_overload(status) ? ErrorCode::model_overloaded : ErrorCode::model_refused,
            std::move(context), key);
  failure.worth_retrying = transient;
  failure.throttled = status == 429;
  failure.server_is_ill = transient && status != 429;
  return failure;
}

AttemptFailure failure_of_stream(std::string context, std::string_view key) {
  AttemptFailure failure = plain(ErrorCode::stream_broken, std::move(context), key);
  failure.worth_retrying = true;
  failure.server_is_ill = true;
  return failure;
}

}  // namespace specgen
