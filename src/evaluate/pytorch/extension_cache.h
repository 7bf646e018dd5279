#pragma once
// A cache that makes load_inline fast for ModelNew candidates: precompiled headers of torch's core, one per torch,
// compiler and flags, each made in a sandbox without a candidate; and the libraries built from one candidate's sources,
// which only that candidate gets back. Candidates see both folders read-only. The cache folder may be removed at any
// time.

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
  // Without a cache folder in `host` nothing is cached.
  ExtensionCache(const PythonHost& host, std::string_view candidate_source);

  std::filesystem::path headers() const { return headers_; }
  std::filesystem::path kept() const { return kept_; }
  std::vector<std::filesystem::path> folders() const;  // for the sandbox; created if missing

  // For a request of the candidate's process (JSON with `extra` and `cuda`). The flags come from the
  // candidate, so only harmless ones are accepted. If it fails, load_inline is only slower.
  Task<Result<void>> make_header(std::string_view wanted);
  Result<void> keep(const std::string& key, const Fd& library);

 private:
  const PythonHost& host_;
  std::filesystem::path headers_;
  std::filesystem::path kept_;
};

// Whether a flag is harmless for the compiler; the same list as in extension.py.
bool is_plain_flag(std::string_view flag);

}  // namespace specgen
