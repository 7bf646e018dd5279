#pragma once
// The author's tokens: a short word with the space before it, up to three digits, a run of blanks, or one other
// character. Similar to the tokens of language models for code and English.

#include <cstdint>
#include <string_view>

namespace specgen {

// The length of the token at the front; 0 only for an empty text. A token never ends within a character.
std::size_t author_token_length(std::string_view text);

std::int64_t count_author_tokens(std::string_view text);

// The first `tokens` tokens of the text, or all of it.
std::string_view first_author_tokens(std::string_view text, std::int64_t tokens);

}  // namespace specgen
