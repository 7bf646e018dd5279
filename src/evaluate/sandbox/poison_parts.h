#pragma once
// The poisons by what they attack: private to poison.cc.

#include <span>
#include <string>

#include "evaluate/sandbox/poison.h"

namespace specgen::poison {

using Words = std::span<const std::string>;

// Resources: most never end by themselves.
Escape fork_bomb(Words);
Escape memory_hog(Words words);  // MiB to touch; refused memory is containment
Escape reserve_100g(Words);      // must be allowed: GPUs reserve addresses
Escape endless_loop(Words);
Escape endless_output(Words);
Escape disk_fill(Words words);  // most MiB for one file, most in all
Escape daemon(Words);           // leaves one behind, which holds descriptor 3
Escape stop_self(Words);
Escape close_descriptors(Words);
Escape deep_recursion(Words);
int count_forks(int most);  // how many succeed; all are ended again

// Files, other processes, the network.
Escape connect_out(Words words);     // port of 127.0.0.1
Escape read_secret(Words words);     // a file that all may read
Escape write_outside(Words words);   // a folder that all may write to
Escape symlink_escape(Words words);  // the same
Escape kill_all(Words words);        // a process of the host, its pid namespace
Escape signal_host(Words words);     // the same, without harm to others in the sandbox
Escape see_host(Words words);        // the same
Escape ptrace_parent(Words);
Escape signal_parent(Words);

// The kernel.
Escape mount_something(Words);
Escape new_namespace(Words);
Escape bad_syscalls(Words);
Escape setuid_root(Words);
Escape device_nodes(Words);
Escape proc_write(Words);

}  // namespace specgen::poison
