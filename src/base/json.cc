#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>

#include "base/json_storage.h"
#include "base/text.h"

namespace specgen {
namespace {

void indent(std::string& out, int depth) {
  out.append(static_cast<std::size_t>(2 * depth), ' ');
}

// The shortest text that reads back equal, and as a fraction. JSON has no infinity: that is null.
void print(std::string& out, double number) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::string text = fmt::format("{}", number);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

// "line 3, column 17" of a place in a text.
std::string place(std::string_view text, std::size_t at) {
  std::string_view before = text.substr(0, at);
  std::size_t line_start = before.rfind('\n') + 1;  // 0 where there is none
  return fmt::format("line {}, column {}", std::ranges::count(before, '\n') + 1,
                     at - line_start + 1);
}

// Builds a value from the parser's events. Ours, because the library's own reads fractions only
// to within a rounding error, and a number in a journal must come back as it went in.
struct Builder {
  Builder() {}  // user-provided, so that the buffer below is not cleared

  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using Text = boost::json::string_view;
  using Code = boost::json::error_code;

  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(std::size_t n, Code&) { return stack.push_object(n), true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t n, Code&) { return stack.push_array(n), true; }
  bool on_key_part(Text text, std::size_t, Code&) { return stack.push_chars(text), true; }
  bool on_key(Text text, std::size_t, Code&) { return stack.push_key(text), true; }
  bool on_string_part(Text text, std::size_t, Code&) { return stack.push_chars(text), true; }
  bool on_string(Text text, std::size_t, Code&) { return stack.push_string(text), true; }
  bool on_number_part(Text text, Code&) { return number.append(text.data(), text.size()), true; }
  bool on_int64(std::int64_t value, Text, Code&) {
    return number.clear(), stack.push_int64(value), true;
  }
  bool on_uint64(std::uint64_t value, Text, Code&) {
    return number.clear(), stack.push_uint64(value), true;
  }
  bool on_double(double value, Text text, Code& error) {
    number.append(text.data(), text.size());
    std::from_chars(number.data(), number.data() + number.size(),
                    value);  // out of range: 0 or infinity stays
    number.clear();
    if (!std::isfinite(value)) return error = boost::json::error::exponent_overflow, false;
    return stack.push_double(value), true;
  }
  bool on_bool(bool value, Code&) { return stack.push_bool(value), true; }
  bool on_null(Code&) { return stack.push_null(), true; }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

  // Most texts are small: what the parser holds in the meantime fits here.
  std::array<unsigned char, 4096> buffer;
  boost::json::value_stack stack{{}, buffer.data(), buffer.size()};
  std::string number;
};

void print(std::string& out, const Json& value, int depth) {
  if (const auto* object = value.if_object(); object && !object->empty()) {
    out += "{\n";
    for (std::size_t left = object->size(); const auto& [key, member] : *object) {
      indent(out, depth + 1);
      out += boost::json::serialize(key);
      out += ": ";
      print(out, member, depth + 1);
      out += --left ? ",\n" : "\n";
    }
    indent(out, depth);
    out += '}';
  } else if (const auto* array = value.if_array(); array && !array->empty()) {
    out += "[\n";
    for (std::size_t left = array->size(); const Json& item : *array) {
      indent(out, depth + 1);
      print(out, item, depth + 1);
      out += --left ? ",\n" : "\n";
    }
    indent(out, depth);
    out += ']';
  } else if (const double* number = value.if_double()) {
    print(out, *number);
  } else {
    out += boost::json::serialize(value);
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text) {
  return parse_json(text, boost::json::storage_ptr());
}

Result<Json> parse_json(std::string_view text, const boost::json::storage_ptr& storage) {
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::json::basic_parser<Builder> parser(options);
  parser.handler().stack.reset(storage);
  std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = boost::json::error::extra_data;
  if (error) {
    return fail(ErrorCode::bad_json, fmt::format("{}: {}", place(text, read), error.message()));
  }
  return parser.handler().stack.release();
}

std::string pretty_json(const Json& value) {
  std::string out;
  print(out, value, 0);
  out += '\n';
  return as_utf8(std::move(out));
}

const Json* member_at(const Json& object, std::string_view key) {
  return object.is_object() ? object.get_object().if_contains(key) : nullptr;
}

std::string text_at(const Json& object, std::string_view key) {
  const Json* member = member_at(object, key);
  return member && member->is_string() ? std::string(member->get_string()) : std::string();
}

bool flag_at(const Json& object, std::string_view key) {
  const Json* member = member_at(object, key);
  return member && member->is_bool() && member->get_bool();
}

std::int64_t int_at(const Json& object, std::string_view key, std::int64_t otherwise) {
  const Json* member = member_at(object, key);
  return member && member->is_int64() ? member->get_int64() : otherwise;
}

double number_at(const Json& object, std::string_view key, double otherwise) {
  const Json* member = member_at(object, key);
  if (!member || !member->is_number()) return otherwise;
  return member->to_number<double>();
}

Json finite_or_null(double number) {
  return std::isfinite(number) ? Json(number) : Json(nullptr);
}

std::string compact_json(const Json& value) {
  return as_utf8(boost::json::serialize(value));
}

}  // namespace specgen
