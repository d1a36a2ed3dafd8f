// The calls that may be asked for, by name. nemesis/faults/syscalls/calls.py has them by group; both name the same.
#include "supervisor.h"
#include <sys/syscall.h>

static const struct { const char *name; int number; } known[] = {
#define CALL(name) {#name, SYS_##name},
#ifdef SYS_open
  CALL(open)
  CALL(creat)
  CALL(rename)
  CALL(unlink)
#endif
#ifdef SYS_renameat
  CALL(renameat)
#endif
  CALL(openat) CALL(openat2) CALL(renameat2) CALL(unlinkat)
  CALL(read) CALL(readv) CALL(pread64) CALL(preadv) CALL(preadv2)
  CALL(write) CALL(writev) CALL(pwrite64) CALL(pwritev) CALL(pwritev2)
  CALL(fsync) CALL(fdatasync) CALL(msync) CALL(fallocate) CALL(truncate) CALL(ftruncate)
  CALL(mmap) CALL(socket) CALL(connect) CALL(accept) CALL(accept4)
  CALL(sendto) CALL(sendmsg) CALL(sendmmsg) CALL(recvfrom) CALL(recvmsg) CALL(recvmmsg)
  CALL(clone) CALL(clone3) CALL(io_uring_enter)
};

int number_of(const char *name) {
  for (size_t at = 0; at < sizeof known / sizeof *known; at++)
    if (!strcmp(known[at].name, name)) return known[at].number;
  return -1;
}

int numbers_of(char *names, int *numbers) {
  int count = 0;
  char *rest = NULL;
  for (char *name = strtok_r(names, "+", &rest); name && count < CALLS_MAX; name = strtok_r(NULL, "+", &rest)) {
    int number = number_of(name);
    if (number >= 0) numbers[count++] = number;
  }
  return count;
}
