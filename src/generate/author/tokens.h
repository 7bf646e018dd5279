#pragma once
// What the author counts as a token: a short word with the space before it, up to three digits, a run of
// blanks, a mark. Close to what language models use on code and English, and exact, since the author
// decides itself.

#include <cstdint>
#include <string_view>

namespace specgen {

// The length of the token at the front; 0 only of an empty text. Never ends within a character.
std::size_t author_token_length(std::string_view text);

std::int64_t count_author_tokens(std::string_view text);

// The front of the text that is `tokens` tokens long, or all of it.
std::string_view first_author_tokens(std::string_view text, std::int64_t tokens);

}  // namespace specgen
