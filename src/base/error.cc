#include "base/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/assert.h"

namespace specgen {
namespace {

using enum ErrorCode;
using enum ExitCode;

constexpr std::array kTable{
    ErrorKind{bad_usage, "invalid command line", "see --help", usage},
    ErrorKind{unknown_name, "unknown name", "check the spelling; --help lists the names", usage},
    ErrorKind{bad_config, "invalid configuration file", "correct the line named above", usage},

    ErrorKind{system_call, "a system call failed",
              "see the reason above; `specgen doctor` shows what this machine offers", environment},
    ErrorKind{file_not_found, "file not found", "check the path", usage},
    ErrorKind{file_too_large, "a file is larger than its limit",
              "make the file smaller, or raise the limit where it is configurable", usage},
    ErrorKind{disk_full, "the disk is full",
              "free some space, then rerun with --resume; no committed entry was lost",
              environment},
    ErrorKind{tool_missing, "a required program is not installed",
              "run `specgen doctor`: it prints the command that installs it", environment},
    ErrorKind{timeout, "the time limit was exceeded", "raise the limit, or find out what hangs",
              failed},

    ErrorKind{journal_damaged, "the journal is damaged",
              "restore the file from a copy, or start a new run; the file was not changed",
              environment},
    ErrorKind{journal_newer, "the journal was written by a newer version",
              "use the version that wrote it, or newer; the file was not changed", usage},
    ErrorKind{journal_locked, "the journal is in use by another process",
              "wait for that process or end it; one run folder has one writer", environment},
    ErrorKind{journal_failed, "the journal cannot be written",
              "fix the cause above, then rerun with --resume; no committed entry was lost",
              environment},
    ErrorKind{journal_overloaded, "the journal has too many entries waiting to be written",
              "the disk is too slow for this load: use a local disk", environment},
    ErrorKind{artifact_damaged, "a stored file does not match its checksum",
              "restore the file from a copy, or delete it and start a new run", environment},
    ErrorKind{journal_foreign, "the file is not a journal",
              "name a run folder made by specgen; the file was not changed", usage},
    ErrorKind{entry_too_large, "an entry is too large for the journal",
              "store large data as an artifact, and name it in the entry", failed},

    ErrorKind{spawn_failed, "a program could not be started",
              "check that it is installed and executable", environment},
    ErrorKind{output_limit, "a program printed more than its limit",
              "make it print less, or raise the limit", failed},

    ErrorKind{bad_json, "invalid JSON",
              "correct the place named above; docs/reference/json.md has the schemas", failed},
    ErrorKind{bad_message, "another process sent an invalid message",
              "both programs must be of the same version; check whether the sender crashed",
              failed},

    ErrorKind{bad_task, "invalid task",
              "correct the place named above; docs/reference/tasks.md has the format", usage},
    ErrorKind{bad_expression, "invalid expression",
              "use + - * / % ceildiv min max over declared names", usage},
    ErrorKind{
        sandbox_missing, "no working sandbox",
        "run `specgen doctor`: it shows what this host lacks; --allow-unsandboxed runs without",
        environment},
    ErrorKind{device_missing, "no such device",
              "run `specgen doctor`: it lists the devices of this host", environment},
    ErrorKind{device_failed, "a device failed",
              "run `specgen doctor`; if a GPU fails repeatedly, reset it", environment},
    ErrorKind{device_busy, "a device is in use by another process",
              "wait for that process or end it; timing needs exclusive use of a device",
              environment},
    ErrorKind{harness_failed, "the evaluation itself failed",
              "the candidate is not the cause; run it again, and report it if it repeats", failed},

    ErrorKind{bad_url, "invalid server URL",
              "write a full URL, such as http://127.0.0.1:8080/v1 or https://api.example.com/v1",
              usage},
    ErrorKind{endpoint_unreachable, "the server cannot be reached",
              "check the address, that the server runs, and the network between", environment},
    ErrorKind{stream_broken, "the server's answer ended too early",
              "try again; if it repeats, check the server's log", failed},
    ErrorKind{address_in_use, "cannot listen on this address",
              "choose another port, or 0 for a free one", environment},
    ErrorKind{http_status, "the server refused the request",
              "read the server's message, then correct the request or the server", environment},
    ErrorKind{unknown_model, "unknown model",
              "write author, cassette:FILE, openai:NAME@URL or a name of [models] in specgen.toml",
              usage},
    ErrorKind{key_missing, "a model's key cannot be read",
              "set the environment variable, or put the key into a file of mode 0600", environment},
    ErrorKind{not_an_endpoint, "the server has no OpenAI-compatible API",
              "check the URL, which usually ends in /v1; `specgen doctor --model` tests it",
              environment},
    ErrorKind{model_refused, "the model's server refused the request",
              "read its message; `specgen doctor --model` shows what the server accepts", failed},
    ErrorKind{model_overloaded, "the model's server is overloaded",
              "wait, or lower max_concurrent of this model in specgen.toml", failed},
    ErrorKind{model_silent, "the model's server sent no data in time",
              "check the server's load, or raise the model's idle timeout", failed},
    ErrorKind{key_refused, "the model's server rejected the key",
              "check the key, and that it may use this model", environment},
    ErrorKind{bad_stream, "the model's server sent an invalid stream",
              "check that the URL is an OpenAI-compatible API; `specgen doctor --model` tests it",
              environment},
    ErrorKind{cassette_damaged, "the cassette is damaged",
              "restore the file from a copy, or record it again; it was not changed", environment},
    ErrorKind{cassette_newer, "the cassette was written by a newer version",
              "use the version that wrote it, or newer; the file was not changed", usage},
    ErrorKind{not_recorded, "the cassette has no answer to this request",
              "record it: `specgen record --append` in front of the same server", failed},

    ErrorKind{bad_scenario, "invalid scenario",
              "correct the key named above; docs/reference/simulation.md lists all keys", usage},
    ErrorKind{invariant_broken, "an invariant was violated",
              "rerun with the command line printed above, and report it", failed},
    ErrorKind{bad_triggers, "invalid triggers",
              "correct the pattern named above; docs/reference/speculation.md describes the file",
              usage},
    ErrorKind{bad_prompt, "invalid prompt",
              "correct the file named above; docs/reference/search.md lists what a prompt may use",
              usage},
    ErrorKind{budget_spent, "the budget is spent",
              "raise the budget named above and resume the run", failed},
    ErrorKind{no_run, "there is no run in this folder",
              "name the folder that `specgen optimize` printed; `specgen runs` lists them", usage},
};

static_assert(std::ranges::is_sorted(kTable, {}, &ErrorKind::code), "the table must be sorted");
static_assert(std::ranges::adjacent_find(kTable, {}, &ErrorKind::code) == kTable.end(),
              "a code must have one row");

}  // namespace

std::span<const ErrorKind> error_table() {
  return kTable;
}

const ErrorKind& kind_of(ErrorCode code) {
  auto kind = std::ranges::lower_bound(kTable, code, {}, &ErrorKind::code);
  SG_ASSERT(kind != kTable.end() && kind->code == code, "an error code has no row in the table");
  return *kind;
}

std::string Error::summary() const {
  std::string_view message = kind_of(code).message;
  if (context.empty()) return fmt::format("error E{}: {}", static_cast<int>(code), message);
  return fmt::format("error E{}: {}: {}", static_cast<int>(code), message, context);
}

std::string Error::text() const {
  return fmt::format("{}\n  what to do: {}", summary(), what_to_do());
}

std::unexpected<Error> fail_errno(std::string_view what, int error_number) {
  ErrorCode code = error_number == ENOSPC || error_number == EDQUOT ? ErrorCode::disk_full
                   : error_number == ENOENT                         ? ErrorCode::file_not_found
                                                                    : ErrorCode::system_call;
  return fail(code, fmt::format("{}: {}", what, std::strerror(error_number)));
}

}  // namespace specgen
