#pragma once
// Puts characters together that a server split over two chunks. It may split them as bytes, or, where
// it writes JSON escapes, as the halves of a surrogate pair; the latter travel here as the three bytes
// that UTF-8 would have for them if it allowed them, so that there is one way of joining.

#include <string>
#include <string_view>

namespace specgen {

// JSON with every escape of half a surrogate pair that lacks its other half (\ud83d) replaced by those
// three bytes; nothing else changes. `storage` holds the result if there was something to replace.
std::string_view halves_as_bytes(std::string_view json, std::string& storage);

// `text` continues what is held. Afterwards it is whole characters, with U+FFFD for what is none, and
// `held` is what may be the beginning of one, or empty at the end.
void take_whole_characters(std::string& text, std::string& held, bool at_end);

}  // namespace specgen
