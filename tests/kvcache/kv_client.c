/* libspecgen_kv as an engine uses it, in plain C. kv_client SOCKET: 0 if all was as it should be. */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "specgen_kv.h"

#define MUST(what)                                            \
  do {                                                        \
    if (!(what)) {                                            \
      fprintf(stderr, "line %d: not so: %s\n", __LINE__, #what); \
      exit(1);                                                \
    }                                                         \
  } while (0)

enum { kValues = 20, kBytes = 1 << 20 };

int main(int count, char** arguments) {
  char error[200] = "";
  MUST(count == 2);
  specgen_kv* kv = specgen_kv_open(arguments[1], 8u << 20, 5000, error, sizeof error);
  if (!kv) fprintf(stderr, "%s\n", error);
  MUST(kv);

  char* value = malloc(kBytes);
  char* buffer = malloc(kBytes);
  for (int i = 0; i < kBytes; ++i) value[i] = (char)(i * 7);
  MUST(specgen_kv_get(kv, "k", 1, buffer, kBytes) == SPECGEN_KV_MISS);
  MUST(specgen_kv_put(kv, "k", 1, value, kBytes) == SPECGEN_KV_OK);
  MUST(specgen_kv_get(kv, "k", 1, buffer, kBytes) == kBytes);
  MUST(memcmp(value, buffer, kBytes) == 0);
  MUST(specgen_kv_exists(kv, "k", 1) == 1);

  /* A batch, as a plugin has it: submit, poll, drain. */
  char keys[kValues][16];
  specgen_kv_request requests[kValues];
  for (int i = 0; i < kValues; ++i) {
    int length = snprintf(keys[i], sizeof keys[i], "chunk%d", i);
    specgen_kv_request put = {(uint64_t)i, SPECGEN_KV_OP_PUT, keys[i], (size_t)length, value, kBytes};
    requests[i] = put;
  }
  MUST(specgen_kv_submit(kv, requests, kValues) == SPECGEN_KV_OK);
  char seen[kValues] = {0}; /* they complete in any order */
  for (int done = 0; done < kValues;) {
    struct pollfd ready = {specgen_kv_event_fd(kv), POLLIN, 0};
    MUST(poll(&ready, 1, 5000) == 1);
    specgen_kv_completion some[4];
    int n;
    while ((n = specgen_kv_drain(kv, some, 4)) > 0) {
      for (int i = 0; i < n; ++i) {
        MUST(some[i].status == SPECGEN_KV_OK && some[i].tag < kValues && !seen[some[i].tag]);
        seen[some[i].tag] = 1;
      }
      done += n;
    }
    MUST(n == 0);
  }
  MUST(specgen_kv_exists(kv, "chunk19", 7) == 1);
  MUST(specgen_kv_delete(kv, "chunk19", 7) == 1);
  MUST(specgen_kv_exists(kv, "chunk19", 7) == 0);
  specgen_kv_close(kv);
  free(value);
  free(buffer);
  puts("ok");
  return 0;
}
