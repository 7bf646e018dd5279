#pragma once
// Builds replies of the Redis protocol.

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvcache/reply_queue.h"

namespace specgen::resp {

inline constexpr const char* kVersion =
    "7.0.0";  // the Redis version whose commands are implemented; clients check it
inline constexpr std::size_t kMaxName = 128;
inline constexpr std::string_view kNotAuthenticated = "-NOAUTH Authentication required.\r\n";

std::optional<std::int64_t> parse_integer(std::string_view text);

void add_number(ReplyQueue& replies, std::int64_t number);
void add_bulk(ReplyQueue& replies, std::string_view text);
void add_array(ReplyQueue& replies, std::size_t count);            // `count` elements follow
void add_map(ReplyQueue& replies, std::size_t count, bool resp3);  // `count` pairs follow
// `quoted` is shortened, and characters that would end the line are removed.
void add_error(ReplyQueue& replies, std::string_view before, std::string_view quoted,
               std::string_view after);

}  // namespace specgen::resp
