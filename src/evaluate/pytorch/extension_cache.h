#pragma once
// What makes load_inline fast for ModelNew candidates, kept between them: precompiled headers of
// torch's core, one per torch, compiler and flags, each made in a box where no candidate is;
// and the libraries that one candidate's own sources were built into, given back to that candidate
// alone. Candidates see both folders read-only. Removing the cache folder costs time, nothing else.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "evaluate/pytorch/python_process.h"

namespace specgen {

class ExtensionCache {
 public:
  // Without a cache folder in `host` nothing is kept, and load_inline takes as long as it takes.
  ExtensionCache(const PythonHost& host, std::string_view candidate_source);

  std::filesystem::path headers() const { return headers_; }
  std::filesystem::path kept() const { return kept_; }
  std::vector<std::filesystem::path> folders() const;  // for the box; made if they are not there

  // As the candidate's process asks for it (a JSON message with `extra` and `cuda`). The flags come
  // from the candidate, so only harmless ones are taken. Failing is no error: it is slower then.
  Task<Result<void>> make_header(std::string_view wanted);
  Result<void> keep(const std::string& key, const Fd& library);

 private:
  const PythonHost& host_;
  std::filesystem::path headers_;
  std::filesystem::path kept_;
};

// Whether a flag may be given to the compiler on our behalf; the list is that of extension.py.
bool is_plain_flag(std::string_view flag);

}  // namespace specgen
