#pragma once
// Seccomp filters, assembled by libseccomp. A filter is a program for the kernel: an array of
// struct sock_filter, in the form that both bubblewrap and apply_filter() take. A process of
// another architecture (32-bit code or x32 on x86-64), whose calls have other numbers, is killed.
//
// Assembling a filter costs about 0.2 ms in a fresh process, so each is made once, before the
// processes that apply it are started: sandbox_filter() by Sandbox::open(), computing_filter() by
// an executor before it loads a candidate.

#include <string>

#include "base/error.h"

namespace specgen {

using FilterProgram = std::string;

// Everything inside a sandbox. Lists what is refused, not what is allowed, because CUDA's driver
// needs calls that change with its version (memfd_create, ioctl, large reservations).
struct FilterOptions {
  bool unix_sockets = true;  // AF_UNIX. Without a network namespace they reach the host's
  bool system_v_ipc = true;  // without an IPC namespace its objects outlive the process
};
Result<FilterProgram> sandbox_filter(FilterOptions options);

// A CPU candidate whose code, data and threads are in place: it may only wait and end, and leaves
// its results in shared memory. Any other call kills the process (SIGSYS).
Result<FilterProgram> computing_filter();

enum class FilteredThreads : bool { calling_thread, all_threads };
// For this process and all that it starts; it cannot be undone. Allocates nothing.
Result<void> apply_filter(const FilterProgram& program, FilteredThreads threads);

}  // namespace specgen
