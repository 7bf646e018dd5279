#include "runtime/task.h"

#include <exception>
#include <string>

namespace specgen::detail {

void exception_left_task() noexcept {
  std::string what = "an exception left a task: ";
  try {
    throw;
  } catch (const std::exception& error) {
    what += error.what();
  } catch (...) {
    what += "of an unknown type";
  }
  panic(what, __FILE__, __LINE__);
}

}  // namespace specgen::detail
