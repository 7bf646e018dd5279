#pragma once
// libspecgen_kv: a KV node on this host through shared memory, for engines and their plugins. Plain C, depends on libc
// alone. A handle is for any number of threads, one call at a time inside.
//
//   specgen_kv* kv = specgen_kv_open("/run/specgen/kv.lane", 256u << 20, 5000, error, sizeof error);
//   specgen_kv_put(kv, key, key_bytes, value, value_bytes);
//   int64_t got = specgen_kv_get(kv, key, key_bytes, room, room_bytes);   // SPECGEN_KV_MISS: compute it
//
// Nothing here ever waits longer than timeout_ms for the node. When the node goes away every call says SPECGEN_KV_GONE;
// close the handle and open another when it is back. A put may be dropped by the node: only a get tells.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SPECGEN_KV_API __attribute__((visibility("default")))
#else
#define SPECGEN_KV_API
#endif

typedef struct specgen_kv specgen_kv;

enum {
  SPECGEN_KV_OK = 0,
  SPECGEN_KV_MISS = -1,
  SPECGEN_KV_TOO_SMALL = -2, /* the value is larger than the room */
  SPECGEN_KV_GONE = -3,      /* the node is not there any more */
  SPECGEN_KV_BAD = -4        /* the arguments: no key, or more than fits into the arena */
};

/* The arena is memory that the node copies to and from; a value must fit into it, and several should. Null if it did
   not work, and why in `error`. */
SPECGEN_KV_API specgen_kv* specgen_kv_open(const char* socket_path, size_t arena_bytes,
                                           int timeout_ms, char* error, size_t error_bytes);
SPECGEN_KV_API void specgen_kv_close(specgen_kv* kv); /* also what was reserved */

/* The arena itself, to be registered with a device once; and room in it. A value in reserved room is not copied a
   second time. Null: no room now. */
SPECGEN_KV_API void* specgen_kv_arena(const specgen_kv* kv);
SPECGEN_KV_API size_t specgen_kv_arena_bytes(const specgen_kv* kv);
SPECGEN_KV_API void* specgen_kv_reserve(specgen_kv* kv, size_t bytes);
SPECGEN_KV_API void specgen_kv_release(specgen_kv* kv, void* room);

/* One at a time, waiting for the answer. With a batch of the same handle under way it waits for its turn, and the
   batch's completions stay for drain(). */
SPECGEN_KV_API int64_t specgen_kv_get(specgen_kv* kv, const char* key, size_t key_bytes, void* room,
                                      size_t bytes);
SPECGEN_KV_API int specgen_kv_put(specgen_kv* kv, const char* key, size_t key_bytes,
                                  const void* value, size_t bytes);
SPECGEN_KV_API int specgen_kv_exists(specgen_kv* kv, const char* key,
                                     size_t key_bytes); /* 1, 0, or less */
SPECGEN_KV_API int specgen_kv_delete(specgen_kv* kv, const char* key,
                                     size_t key_bytes); /* 1, 0, or less */

/* Many at a time, without waiting. Buffers belong to the library until their completion; keys are copied. A batch may
   be larger than the arena: it goes through it piece by piece, as completions are drained. What is under way together
   is done side by side and completes in any order: do not ask for what the same batch stores. */
enum {
  SPECGEN_KV_OP_GET = 1,
  SPECGEN_KV_OP_PUT = 2,
  SPECGEN_KV_OP_EXISTS = 3,
  SPECGEN_KV_OP_DELETE = 4
};

typedef struct specgen_kv_request {
  uint64_t tag; /* comes back with the completion */
  int32_t op;
  const char* key;
  size_t key_bytes;
  void* buffer; /* get: room; put: the value; else null */
  size_t bytes;
} specgen_kv_request;

typedef struct specgen_kv_completion {
  uint64_t tag;
  int32_t status; /* exists and delete: OK or MISS */
  uint64_t bytes; /* of the value, for a get */
} specgen_kv_completion;

/* All of them or none: SPECGEN_KV_OK, SPECGEN_KV_BAD or SPECGEN_KV_GONE. */
SPECGEN_KV_API int specgen_kv_submit(specgen_kv* kv, const specgen_kv_request* requests,
                                     size_t count);

/* Readable when specgen_kv_drain() has something to do. Do not read from it. */
SPECGEN_KV_API int specgen_kv_event_fd(const specgen_kv* kv);

/* How many completions were written, 0 if there are none yet; if it is `most`, ask again before you poll. When the
   node is gone, all that is left completes as GONE; after that this returns SPECGEN_KV_GONE. */
SPECGEN_KV_API int specgen_kv_drain(specgen_kv* kv, specgen_kv_completion* completions,
                                    size_t most);

#ifdef __cplusplus
}
#endif
