#pragma once
// Replies of the Redis protocol, piece by piece.

#include <cstdint>
#include <optional>
#include <string_view>

#include "kvcache/reply_queue.h"

namespace specgen::resp {

inline constexpr const char* kVersion = "7.0.0";  // whose commands these are: clients look at it
inline constexpr std::size_t kMaxName = 128;
inline constexpr std::string_view kNotAuthenticated = "-NOAUTH Authentication required.\r\n";

std::optional<std::int64_t> whole_number(std::string_view text);

void add_number(ReplyQueue& replies, std::int64_t number);
void add_bulk(ReplyQueue& replies, std::string_view text);
void add_array(ReplyQueue& replies, std::size_t count);            // as many follow
void add_map(ReplyQueue& replies, std::size_t count, bool resp3);  // as many pairs follow
// What a client sent is quoted short, and without what would end the line.
void add_error(ReplyQueue& replies, std::string_view before, std::string_view quoted,
               std::string_view after);

}  // namespace specgen::resp
