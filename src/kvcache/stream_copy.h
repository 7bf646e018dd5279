#pragma once
// Copies with non-temporal stores, for bytes that this core does not read again, such as those for the memory of a
// client. The destination is not read first, which saves a third of the memory traffic; meanwhile as many bytes
// behind the copied ones are prefetched. Complete for other cores after any synchronising operation.

#include <cstddef>

namespace specgen {

void copy_and_fetch_more(char* to, const char* from, std::size_t bytes);

}  // namespace specgen
