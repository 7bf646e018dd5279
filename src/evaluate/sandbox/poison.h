#pragma once
// Poison: hostile programs that test a sandbox from inside. `PROGRAM internal-poison NAME
// ARGUMENTS...` attempts one attack, exits with kContained if it was refused and with kEscaped if
// not, and prints a line about it. Some never end by themselves: the limits must end them.
//
// "self-test" is for Sandbox::open(): it runs the quick attacks in one process and writes a line
// for each to descriptor 3 ("read-secret contained").

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

inline constexpr std::string_view kInternalPoison = "internal-poison";
inline constexpr int kContained = 0;
inline constexpr int kEscaped = 3;

// The result of an attack: empty if it was refused, else what it could do.
using Escape = std::string;

struct PoisonKind {
  std::string_view name;
  Escape (*run)(std::span<const std::string> arguments);
};
std::vector<PoisonKind> poisons();

[[noreturn]] void run_internal_poison(std::span<const std::string> arguments);

// What the self-test attacks on the host.
struct PoisonTargets {
  std::string secret_file = {};    // readable by all
  std::string open_folder = {};    // writable by all, outside the sandbox
  int port = 0;                    // of 127.0.0.1, with a listener
  int process = 0;                 // a pid of the host
  std::string pid_namespace = {};  // of that process
  int max_forks = 0;               // that the sandbox should allow
};
std::vector<std::string> arguments_of(const PoisonTargets& targets);

}  // namespace specgen
