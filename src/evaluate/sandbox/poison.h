#pragma once
// Programs that misbehave on purpose: `PROGRAM internal-poison NAME ARGUMENTS...` runs inside a sandbox
// to show that it holds. Each exits with kContained if what it tried was refused and with kEscaped
// if not, and says so on one line; the endless ones are for limits to end.
//
// "self-test" is for Sandbox::open(): the quick ones in one process, one line for each on
// descriptor 3 ("read-secret contained").

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

inline constexpr std::string_view kInternalPoison = "internal-poison";
inline constexpr int kContained = 0;
inline constexpr int kEscaped = 3;

// What a poison found. Empty if it was refused, else what it could do.
using Escape = std::string;

struct PoisonKind {
  std::string_view name;
  Escape (*run)(std::span<const std::string> arguments);
};
std::vector<PoisonKind> poisons();

[[noreturn]] void run_internal_poison(std::span<const std::string> words);

// What the host gives to poison for it to attack; the words after "self-test".
struct PoisonTargets {
  std::string secret_file = {};    // readable by all
  std::string open_folder = {};    // writable by all, outside of the sandbox
  int port = 0;                    // of 127.0.0.1, where somebody listens
  int process = 0;                 // of the host
  std::string pid_namespace = {};  // of that process
  int max_forks = 0;               // that a sandbox should allow
};
std::vector<std::string> words_of(const PoisonTargets& targets);

}  // namespace specgen
