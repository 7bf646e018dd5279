#pragma once
// Copies past the caches: for bytes that this core does not look at again, such as those for a client's memory. What is
// written is not read first, which saves a third of the traffic to memory; and while that goes on, as many bytes that
// follow the copied ones are fetched into the cache, for who goes on with them. Others see all of it after whatever
// tells them.

#include <cstddef>

namespace specgen {

void copy_and_fetch_more(char* to, const char* from, std::size_t bytes);

}  // namespace specgen
