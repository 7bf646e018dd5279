#pragma once
// A vendor's library, loaded at run time and never linked, so that one program runs on hosts with and without it. It
// stays loaded until the process ends: these libraries start threads and register exit handlers, and unloading them
// crashes.

#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"

namespace specgen {

class DynamicLibrary {
 public:
  // The first that loads. A bare name is searched for by the system's loader, a path is taken as it
  // is. Fails with tool_missing if none is there, with system_call if one is there and does not
  // load.
  static Result<DynamicLibrary> open(std::span<const std::string> candidates);

  // Null if the library has no such function; then it is older or newer than expected.
  template <class Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(address(name));
  }

  std::filesystem::path path() const;  // of the file that was loaded

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}
  void* address(const char* name) const;
  void* handle_;
};

}  // namespace specgen
