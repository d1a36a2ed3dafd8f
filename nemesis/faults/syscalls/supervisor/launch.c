// Becomes a program under a filter that has the kernel ask about some of its calls.
//
// From the moment on that the filter is there, this process makes none of these calls before somebody answers. So a
// helper without the filter, which shares our descriptors, hands the kernel's end to the supervisor. It is no child of
// ours, so that the program finds none that it did not make.
#include "supervisor.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define MACHINE AUDIT_ARCH_AARCH64
#else
#error "no system calls are known of this machine"
#endif

#define PATIENCE_MS 10000
enum { ASKED = 0, TAKEN = 1, REFUSED = 2 };

typedef struct { volatile int descriptor, answer; } Shared;

static void pause_ms(long ms) {
  struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&wait, NULL);
}

static bool hand_over(const char *name, const char *label, pid_t pid, int descriptor) {
  int fd = socket_named(name, connect);
  if (fd < 0) return false;
  char text[128], answer = 0, room[CMSG_SPACE(sizeof descriptor)] = {0};
  int size = snprintf(text, sizeof text, "take %s %d", label, pid);
  struct iovec part = {text, (size_t)size};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof descriptor);
  memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  bool good = sendmsg(fd, &message, 0) == size && recv(fd, &answer, 1, 0) == 1 && answer == 'k';
  close(fd);
  return good;
}

static void help(Shared *shared, const char *name, const char *label, pid_t pid) {
  for (int ms = 0; !shared->descriptor; ms++) {
    if (ms > PATIENCE_MS || kill(pid, 0)) _exit(1);
    pause_ms(1);
  }
  bool taken = hand_over(name, label, pid, shared->descriptor);
  if (!taken) fprintf(stderr, "%s takes no further program\n", name);
  shared->answer = taken ? TAKEN : REFUSED;
  _exit(0);
}

static int filter_of(const int *numbers, int count, struct sock_filter *code) {
  int at = 0;
  code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
  code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 0, (uint8_t)(count + 1));
  code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int call = 0; call < count; call++)
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[call],
                                              (uint8_t)(count - call), 0);
  code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
  return at;
}

int launch(const char *name, const char *label, char *calls, char **program) {
  int numbers[CALLS_MAX], count = numbers_of(calls, numbers);
  if (!count) return fprintf(stderr, "none of these calls is known here\n"), 2;
  if (!ensure_served(name)) return perror(name), 3;
  Shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return perror("mmap"), 3;
  pid_t self = getpid();
  long helper = syscall(SYS_clone, CLONE_FILES | CLONE_PARENT, 0, 0, 0, 0);
  if (helper < 0) return perror("clone"), 3;
  if (!helper) help(shared, name, label, self);
  struct sock_filter code[CALLS_MAX + 5];
  struct sock_fprog filter = {(unsigned short)filter_of(numbers, count, code), code};
  unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return perror("prctl"), 3;
  int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter);
  if (fd < 0) return perror("the kernel does not ask us about system calls, which Linux 5.19 and later do"), 4;
  shared->descriptor = fd;
  for (int ms = 0; shared->answer == ASKED && ms <= PATIENCE_MS; ms++) pause_ms(1);
  if (shared->answer != TAKEN) _exit(3); // the helper has said why: a message could be a call that nobody answers
  execvp(program[0], program);
  return perror(program[0]), 127;
}
