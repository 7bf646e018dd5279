#include "generate/cassette/secrets.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace specgen {
namespace {

constexpr std::array<std::string_view, 12> kHarmless{
    "accept",           "allow",          "cache-control", "content-encoding",
    "content-language", "content-type",   "date",          "openai-version",
    "retry-after",      "retry-after-ms", "server",        "x-request-id"};
constexpr std::string_view kHarmlessStart = "x-ratelimit-";

// Words in the names of keys in headers, queries and bodies. Not every dropped header is treated as a secret: its
// words ("python") would be replaced everywhere.
constexpr std::array<std::string_view, 7> kKeyNames{"auth",   "key",    "token",   "secret",
                                                    "cookie", "passwd", "password"};

// Exact names at the top level of a body: "tokenizer" is not a key.
constexpr std::array<std::string_view, 8> kKeyMembers{"api_key",    "apikey",        "api-key",
                                                      "key",        "authorization", "access_token",
                                                      "auth_token", "password"};

constexpr std::array<std::string_view, 5> kHarmlessQuery{"api-version", "after", "limit", "order",
                                                         "verbose"};
// Shorter values cannot be distinguished from ordinary words.
constexpr std::size_t kMinSecret = 8;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool is_harmless(std::string_view name) {
  return std::ranges::find(kHarmless, name) != kHarmless.end() || name.starts_with(kHarmlessStart);
}

bool is_harmless_parameter(std::string_view name) {
  return std::ranges::find(kHarmlessQuery, name) != kHarmlessQuery.end();
}

bool names_a_key(std::string_view name) {
  std::string small = lower(name);
  return std::ranges::any_of(kKeyNames,
                             [&](std::string_view word) { return small.contains(word); });
}

bool is_key_member(std::string_view name) {
  return std::ranges::find(kKeyMembers, lower(name)) != kKeyMembers.end();
}

// The words of a header's value or of a query: a key is one of them.
void add_each(std::string_view value, std::vector<std::string>& secrets) {
  auto ends_word = [](char c) { return is_space(c) || c == ';' || c == ',' || c == '='; };
  while (!value.empty()) {
    std::size_t length = 0;
    while (length < value.size() && !ends_word(value[length])) ++length;
    if (length >= kMinSecret && value.substr(0, length) != "Bearer") {
      secrets.emplace_back(value.substr(0, length));
    }
    value.remove_prefix(std::min(length + 1, value.size()));
  }
}

template <class Visit>
void each_parameter(std::string_view target, Visit visit) {
  std::size_t question = target.find('?');
  if (question == std::string_view::npos) return;
  for (std::string_view part : split(target.substr(question + 1), '&')) {
    std::size_t equals = std::min(part.find('='), part.size());
    visit(part, part.substr(0, equals), part.substr(std::min(equals + 1, part.size())));
  }
}

}  // namespace

HttpHeaders harmless_headers(const HttpHeaders& headers) {
  HttpHeaders kept;
  for (const auto& [name, value] : headers) {
    std::string small = lower(name);
    if (is_harmless(small)) kept.emplace_back(std::move(small), value);
  }
  return kept;
}

std::string harmless_target(std::string_view target) {
  std::string kept(target.substr(0, target.find('?')));
  char joint = '?';
  each_parameter(target, [&](std::string_view whole, std::string_view name, std::string_view) {
    if (!is_harmless_parameter(name)) return;
    kept += std::exchange(joint, '&');
    kept += whole;
  });
  return kept;
}

std::string harmless_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  std::size_t scheme = url.find("://");
  std::size_t host = scheme == std::string_view::npos ? 0 : scheme + 3;
  std::size_t slash = std::min(url.find('/', host), url.size());
  std::size_t at = url.substr(0, slash).rfind('@');
  if (at == std::string_view::npos || at < host) return std::string(url);
  return std::string(url.substr(0, host)) + std::string(url.substr(at + 1));
}

std::vector<std::string> secrets_in(const HttpHeaders& headers, std::string_view target,
                                    std::string_view body) {
  std::vector<std::string> secrets;
  for (const auto& [name, value] : headers) {
    if (names_a_key(name)) add_each(value, secrets);
  }
  each_parameter(target, [&](std::string_view, std::string_view name, std::string_view value) {
    if (names_a_key(name)) add_each(value, secrets);
  });
  if (auto json = parse_json(body); json && json->is_object()) {
    for (const auto& [name, value] : json->get_object()) {
      if (value.is_string() && is_key_member(name)) {
        add_each(value.get_string(), secrets);
      }
    }
  }
  std::ranges::sort(secrets, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  auto doubled = std::ranges::unique(secrets);
  secrets.erase(doubled.begin(), doubled.end());
  return secrets;
}

std::string without_secrets(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = text.find(secret); at != text.npos; at = text.find(secret, at)) {
      std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), '*');
    }
  }
  return text;
}

SecretRedactor::SecretRedactor(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  for (const std::string& secret : secrets_) max_secret_ = std::max(max_secret_, secret.size());
}

void SecretRedactor::add(RecordedPiece piece) {
  held_bytes_ += piece.bytes.size();
  held_.push_back(std::move(piece));
  if (!secrets_.empty()) redact();
}

void SecretRedactor::redact() {
  std::string all;
  all.reserve(held_bytes_);
  for (const RecordedPiece& piece : held_) all += piece.bytes;
  std::string clean = without_secrets(all, secrets_);
  if (clean == all) return;
  std::size_t at = 0;
  for (RecordedPiece& piece : held_) {
    piece.bytes = clean.substr(at, piece.bytes.size());
    at += piece.bytes.size();
  }
}

std::vector<RecordedPiece> SecretRedactor::take() {
  std::vector<RecordedPiece> clean;
  while (!held_.empty() && held_bytes_ - held_.front().bytes.size() + 1 >= max_secret_) {
    held_bytes_ -= held_.front().bytes.size();
    clean.push_back(std::move(held_.front()));
    held_.pop_front();
  }
  return clean;
}

std::vector<RecordedPiece> SecretRedactor::rest() {
  std::vector<RecordedPiece> clean(std::make_move_iterator(held_.begin()),
                                   std::make_move_iterator(held_.end()));
  held_.clear();
  held_bytes_ = 0;
  return clean;
}

}  // namespace specgen
