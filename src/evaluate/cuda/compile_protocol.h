#pragma once
// The protocol of a compile process: one message with the request, one with the answer, and if that
// is ok a second one with the machine code. The process has read hostile source, so its answer is
// not trusted and fully checked.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace specgen {

struct CompileRequest {
  std::string source;
  std::string architecture;                         // "sm_90a"
  std::map<std::string, std::string> defines = {};  // macro -> value
  std::vector<std::string> name_expressions = {};   // "row_max<128>"
  std::vector<std::string> include_folders = {};
};
std::string encode(const CompileRequest& request);
Result<CompileRequest> parse_compile_request(std::string_view text);

struct CompileAnswer {
  bool ok = false;
  std::string log = {};                                   // the compiler's errors and warnings
  std::map<std::string, std::string> lowered_names = {};  // name expression -> mangled
  std::string cubin = {};                                 // not in the first message
};
std::string encode(const CompileAnswer& answer);
Result<CompileAnswer> parse_compile_answer(std::string_view text);

// The name of the source in the log.
inline constexpr std::string_view kCandidateFile = "candidate.cu";

// At most `max_lines` lines, without the folders of this host.
std::string strip_compile_log(std::string_view log, std::size_t max_lines);
int first_cuda_error_line(std::string_view log);  // of the candidate; 0 if no error names one

}  // namespace specgen
