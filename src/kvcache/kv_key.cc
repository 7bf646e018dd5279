#include "kvcache/kv_key.h"

#include <algorithm>
#include <array>

namespace specgen {
namespace {

constexpr std::string_view kTaskTag = "task%";
constexpr std::size_t kMaxFields = 16;

struct Fields {
  std::array<std::string_view, kMaxFields> at;
  std::size_t count = 0;
};

Fields split(std::string_view text) {
  Fields fields;
  while (fields.count < kMaxFields) {
    std::size_t end = text.find('@');
    fields.at[fields.count++] = text.substr(0, end);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return fields;
}

bool is_number(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

std::string_view from_to(std::string_view first, std::string_view last) {
  return {first.data(), static_cast<std::size_t>(last.data() + last.size() - first.data())};
}

}  // namespace

KvKey parse_kv_key(std::string_view key) {
  KvKey parsed{.base = key, .part = KvPart::single, .task = {}, .series = {}};
  for (auto [suffix, part] : {std::pair(std::string_view("kv_bytes"), KvPart::bytes),
                              std::pair(std::string_view("metadata"), KvPart::metadata)}) {
    if (!key.ends_with(suffix) || key.size() == suffix.size()) continue;
    parsed.base.remove_suffix(suffix.size());
    parsed.part = part;
  }
  constexpr std::string_view kHex = "0123456789abcdefABCDEF", kDecimal = "0123456789";
  const Fields fields = split(parsed.base);
  if (fields.count < 4 || !is_number(fields.at[3], kHex)) return parsed;
  parsed.series = from_to(fields.at[0], fields.at[2]);
  // With a process of its own the rank has eight hex digits; otherwise world_size is a plain number and a
  // dtype follows.
  bool is_in_process =
      fields.count > 4 && is_number(fields.at[1], kDecimal) && fields.at[1].size() < 8;
  if (!is_in_process) {
    if (fields.count > 4) parsed.task = from_to(fields.at[4], fields.at[fields.count - 1]);
    return parsed;
  }
  for (std::size_t i = 5; i < fields.count; ++i) {
    if (fields.at[i].starts_with(kTaskTag)) parsed.task = fields.at[i].substr(kTaskTag.size());
  }
  return parsed;
}

}  // namespace specgen
