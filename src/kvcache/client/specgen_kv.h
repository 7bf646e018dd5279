#pragma once
// libspecgen_kv: access to a KV node on this host through shared memory, for LLM servers and their plugins. Plain C,
// depends on libc only. A handle may be used by any number of threads; calls are serialised.
//
//   specgen_kv* kv = specgen_kv_open("/run/specgen/kv.sock", 256u << 20, 5000, error, sizeof error);
//   specgen_kv_put(kv, key, key_bytes, value, value_bytes);
//   int64_t got = specgen_kv_get(kv, key, key_bytes, buffer, buffer_bytes);   // SPECGEN_KV_MISS: compute it
//
// No call waits longer than timeout_ms for the node. When the node ends every call returns SPECGEN_KV_GONE; close
// the handle and open another when the node is back. The node may drop a put: only a get shows whether it is stored.

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
  SPECGEN_KV_TOO_SMALL = -2, /* the value is larger than the buffer */
  SPECGEN_KV_GONE = -3,      /* the node has ended */
  SPECGEN_KV_BAD = -4        /* invalid arguments: no key, or larger than the arena */
};

/* The arena is memory that the node copies to and from; a value must fit into it, and several should. Null on failure,
   with the reason in `error`. */
SPECGEN_KV_API specgen_kv* specgen_kv_open(const char* socket_path, size_t arena_bytes,
                                           int timeout_ms, char* error, size_t error_bytes);
SPECGEN_KV_API void specgen_kv_close(specgen_kv* kv); /* also releases reserved memory */

/* The arena, for example to register it with a device, and reserved memory in it. A value in reserved memory is not
   copied a second time. Null: no free memory now. */
SPECGEN_KV_API void* specgen_kv_arena(const specgen_kv* kv);
SPECGEN_KV_API size_t specgen_kv_arena_bytes(const specgen_kv* kv);
SPECGEN_KV_API void* specgen_kv_reserve(specgen_kv* kv, size_t bytes);
SPECGEN_KV_API void specgen_kv_release(specgen_kv* kv, void* buffer);

/* One request at a time, waiting for the reply. With a pending batch on the same handle it waits for its turn, and the
   completions of the batch stay for drain(). */
SPECGEN_KV_API int64_t specgen_kv_get(specgen_kv* kv, const char* key, size_t key_bytes,
                                      void* buffer, size_t bytes);
SPECGEN_KV_API int specgen_kv_put(specgen_kv* kv, const char* key, size_t key_bytes,
                                  const void* value, size_t bytes);
SPECGEN_KV_API int specgen_kv_exists(specgen_kv* kv, const char* key,
                                     size_t key_bytes); /* 1, 0, or an error below 0 */
SPECGEN_KV_API int specgen_kv_delete(specgen_kv* kv, const char* key,
                                     size_t key_bytes); /* 1, 0, or an error below 0 */

/* Many requests at a time, without waiting. Buffers belong to the library until their completion; keys are copied. A
   batch may be larger than the arena: it is processed in parts, as completions are drained. Pending requests are served
   concurrently and complete in any order: do not get what the same batch puts. */
enum {
  SPECGEN_KV_OP_GET = 1,
  SPECGEN_KV_OP_PUT = 2,
  SPECGEN_KV_OP_EXISTS = 3,
  SPECGEN_KV_OP_DELETE = 4
};

typedef struct specgen_kv_request {
  uint64_t tag; /* returned with the completion */
  int32_t op;
  const char* key;
  size_t key_bytes;
  void* buffer; /* get: destination; put: the value; else null */
  size_t bytes;
} specgen_kv_request;

typedef struct specgen_kv_completion {
  uint64_t tag;
  int32_t status; /* exists and delete: OK or MISS */
  uint64_t bytes; /* of the value, for a get */
} specgen_kv_completion;

/* All or none: SPECGEN_KV_OK, SPECGEN_KV_BAD or SPECGEN_KV_GONE. */
SPECGEN_KV_API int specgen_kv_submit(specgen_kv* kv, const specgen_kv_request* requests,
                                     size_t count);

/* Readable when specgen_kv_drain() has work. Do not read from it. */
SPECGEN_KV_API int specgen_kv_event_fd(const specgen_kv* kv);

/* Returns the number of completions written, 0 if there are none yet; if it is `max`, call again before polling. When
   the node has ended, all pending requests complete as GONE; after that this returns SPECGEN_KV_GONE. */
SPECGEN_KV_API int specgen_kv_drain(specgen_kv* kv, specgen_kv_completion* completions, size_t max);

#ifdef __cplusplus
}
#endif
