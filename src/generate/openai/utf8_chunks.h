#pragma once
// Joins characters that a server split over two chunks. The split may be between UTF-8 bytes or, in JSON
// escapes, between the halves of a surrogate pair. An unpaired half is encoded here as the three bytes
// that UTF-8 would use if it allowed surrogates, so that both cases are joined as bytes. Pure functions.

#include <string>
#include <string_view>

namespace specgen {

// JSON with every escape of an unpaired surrogate half (\ud83d) replaced by those three bytes; nothing
// else changes. The result is a view into `storage` if anything was replaced, else into `json`.
std::string_view halves_as_bytes(std::string_view json, std::string& storage);

// `text` continues `held`. Afterwards `text` has complete characters only, with U+FFFD for invalid bytes,
// and `held` has what may be the beginning of a character; at the end `held` is empty.
void take_complete_characters(std::string& text, std::string& held, bool at_end);

}  // namespace specgen
