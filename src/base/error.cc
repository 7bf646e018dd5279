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
    ErrorKind{bad_usage, "the command line is not understood", "see --help", usage},
    ErrorKind{unknown_name, "there is no such name", "check the spelling; --help lists the names",
              usage},
    ErrorKind{bad_config, "a configuration file is wrong", "correct the line named", usage},

    ErrorKind{system_call, "the system refused a call",
              "read the reason given; `specgen doctor` shows what this machine offers",
              environment},
    ErrorKind{file_not_found, "a file is not there", "check the path", usage},
    ErrorKind{file_too_large, "a file is larger than its limit",
              "make the file smaller, or raise the limit where it is configurable", usage},
    ErrorKind{disk_full, "the disk is full",
              "free some space and start again with --resume; nothing acknowledged is lost",
              environment},
    ErrorKind{tool_missing, "a program that is needed is not installed",
              "run `specgen doctor`: it prints the command that installs it", environment},
    ErrorKind{timeout, "it took longer than its limit", "raise the limit, or find out what hangs",
              failed},

    ErrorKind{journal_damaged, "the journal is damaged",
              "the file was left as it is; restore it from a copy, or start a new run",
              environment},
    ErrorKind{journal_newer, "the journal was written by a newer version",
              "use the version that wrote it, or newer; the file was left as it is", usage},
    ErrorKind{journal_locked, "the journal is in use by another process",
              "wait for that process or end it; one run folder has one writer", environment},
    ErrorKind{journal_failed, "the journal cannot be written",
              "mend the cause named, then start again with --resume; nothing acknowledged is lost",
              environment},
    ErrorKind{journal_overloaded, "the journal has too much waiting to be written",
              "the disk is too slow for this load: use a local disk", environment},
    ErrorKind{artifact_damaged, "a stored file does not match its name",
              "restore the file from a copy, or delete it and start a new run", environment},
    ErrorKind{journal_foreign, "the file is not a journal",
              "name a run folder made by specgen; the file was left as it is", usage},
    ErrorKind{entry_too_large, "an entry is too large for the journal",
              "store what is big as an artifact, and name it in the entry", failed},

    ErrorKind{spawn_failed, "a program could not be started",
              "check that it is installed and executable", environment},
    ErrorKind{output_limit, "a program printed more than its limit",
              "make it print less, or raise the limit", failed},

    ErrorKind{bad_json, "this is not the JSON that was expected",
              "look at the place named; docs/json.md has the schemas", failed},
    ErrorKind{bad_message, "another process sent what it should not",
              "both programs must be of the same version; look for a crash of the sender", failed},

    ErrorKind{bad_task, "the task is wrong",
              "correct the place named; docs/tasks.md has the format", usage},
    ErrorKind{bad_expression, "an expression is wrong",
              "use + - * / % ceildiv min max over the names that are declared", usage},
    ErrorKind{
        sandbox_missing, "there is no sandbox that holds",
        "run `specgen doctor`: it says what this host lacks; --allow-unsandboxed goes without",
        environment},
    ErrorKind{device_missing, "there is no such device",
              "run `specgen doctor`: it lists the devices of this host", environment},
    ErrorKind{device_failed, "a device does not work as it should",
              "run `specgen doctor`; if a GPU fails again and again, reset it", environment},
    ErrorKind{device_busy, "a device is in use by another process",
              "wait for that process or end it; timings need a device of their own", environment},
    ErrorKind{harness_failed, "the evaluation itself went wrong",
              "this is not the candidate's fault; run it again, and report it if it stays", failed},

    ErrorKind{bad_url, "this is not a URL of a server",
              "write it whole, such as http://127.0.0.1:8080/v1 or https://api.example.com/v1",
              usage},
    ErrorKind{endpoint_unreachable, "the server cannot be reached",
              "check the address, that the server runs, and the network between", environment},
    ErrorKind{stream_broken, "the server's answer ended before its time",
              "try again; if it stays, look into the server's log", failed},
    ErrorKind{address_in_use, "this address cannot be listened on",
              "choose another port, or 0 for one that is free", environment},
    ErrorKind{http_status, "the server refused the request",
              "read the server's own words, and correct the request or the server", environment},
    ErrorKind{unknown_model, "there is no such model",
              "write author, cassette:FILE, openai:NAME@URL or a name of [models] in specgen.toml",
              usage},
    ErrorKind{key_missing, "a model's key cannot be read",
              "set the environment variable, or put the key into a file of mode 0600", environment},
    ErrorKind{not_an_endpoint, "this is no server of an OpenAI-compatible API",
              "check the URL, which mostly ends in /v1; `specgen doctor --model` tries it",
              environment},
    ErrorKind{model_refused, "the model's server refused the request",
              "read its words; `specgen doctor --model` shows what it takes", failed},
    ErrorKind{model_overloaded, "the model's server has too much to do",
              "wait, or lower max_concurrent of this model in specgen.toml", failed},
    ErrorKind{model_silent, "the model's server fell silent",
              "look at the server's load, or allow more time without a token", failed},
    ErrorKind{key_refused, "the model's server does not take the key",
              "check the key and that it may use this model", environment},
    ErrorKind{bad_stream, "a model's server sent what is no stream of answers",
              "check that the URL is that of an OpenAI-compatible API; `specgen doctor --model` "
              "tries it",
              environment},
    ErrorKind{cassette_damaged, "the cassette is damaged",
              "restore the file from a copy, or record it again; it was left as it is",
              environment},
    ErrorKind{cassette_newer, "the cassette was written by a newer version",
              "use the version that wrote it, or newer; the file was left as it is", usage},
    ErrorKind{not_recorded, "the cassette has no answer to this request",
              "record it: `specgen record --append` in front of the same server", failed},

    ErrorKind{bad_scenario, "this scenario cannot be simulated",
              "mend the key that is named; docs/simulation.md lists them all", usage},
    ErrorKind{invariant_broken, "something happened that must never happen",
              "run the line that is printed to see it again, and report it", failed},
    ErrorKind{bad_triggers, "these triggers cannot be used",
              "mend the pattern that is named; docs/speculation.md describes the file", usage},
    ErrorKind{bad_prompt, "this prompt cannot be used",
              "mend the file that is named; docs/search.md says what a prompt may ask for", usage},
    ErrorKind{budget_spent, "the budget is spent",
              "raise the budget that is named and resume the run", failed},
    ErrorKind{no_run, "there is no run in this folder",
              "name the folder that specgen optimize printed; specgen runs lists them", usage},
};

static_assert(std::ranges::is_sorted(kTable, {}, &ErrorKind::code), "the table is in order");
static_assert(std::ranges::adjacent_find(kTable, {}, &ErrorKind::code) == kTable.end(),
              "a number stands for one kind");

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
