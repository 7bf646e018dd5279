#pragma once
// The attacks, by what they attack: private to poison.cc.

#include <span>
#include <string>

#include "evaluate/sandbox/poison.h"

namespace specgen::poison {

using Arguments = std::span<const std::string>;

// Resources. Most never end by themselves.
Escape fork_bomb(Arguments);
Escape memory_hog(Arguments arguments);  // MiB to touch; contained if memory is refused
Escape reserve_100g(Arguments);          // must be allowed: GPU drivers reserve addresses
Escape endless_loop(Arguments);
Escape endless_output(Arguments);
Escape disk_fill(Arguments arguments);  // limits in MiB of one file and of all
Escape daemon(Arguments);               // leaves a process that holds descriptor 3
Escape stop_self(Arguments);
Escape close_descriptors(Arguments);
Escape deep_recursion(Arguments);
int count_forks(int limit);  // how many succeed; all are killed afterwards

// Files, other processes, the network.
Escape connect_out(Arguments arguments);     // port of 127.0.0.1
Escape read_secret(Arguments arguments);     // a file that all may read
Escape write_outside(Arguments arguments);   // a folder that all may write to
Escape symlink_escape(Arguments arguments);  // the same
Escape kill_all(Arguments arguments);        // a process of the host, its pid namespace
Escape signal_host(Arguments arguments);     // the same, without killing anything inside
Escape see_host(Arguments arguments);        // the same
Escape ptrace_parent(Arguments);
Escape signal_parent(Arguments);

// The kernel's interfaces.
Escape mount_something(Arguments);
Escape new_namespace(Arguments);
Escape bad_syscalls(Arguments);
Escape setuid_root(Arguments);
Escape device_nodes(Arguments);
Escape proc_write(Arguments);

}  // namespace specgen::poison
