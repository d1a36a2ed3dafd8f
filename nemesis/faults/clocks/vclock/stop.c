// Stops all threads of a process by ptrace, for as long as something is done to its memory.
#define _GNU_SOURCE
#include "vclock.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 65536
#define ATTEMPTS 500
#define TIMEOUT_S 10

typedef struct { pid_t tid; int signal; } Thread; // the signal that it was about to be given

static Thread threads[THREADS_MAX];
static int stopped;

static bool is_stopped_already(pid_t tid) {
  for (int i = 0; i < stopped; i++)
    if (threads[i].tid == tid) return true;
  return false;
}

static int stop_thread(pid_t tid) {
  if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0) {
    if (errno == ESRCH) return 0; // it has just ended
    fprintf(stderr, "thread %d cannot be stopped: %s\n", tid, strerror(errno));
    return -1;
  }
  ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  int status;
  if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return 0;
  threads[stopped++] = (Thread){tid, status >> 16 ? 0 : WSTOPSIG(status)};
  return 1;
}

// Threads that begin meanwhile are found by looking until a look finds none.
static int stop_threads(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  for (bool more = true; more;) {
    more = false;
    DIR *folder = opendir(path);
    if (folder == NULL) return 0; // it has ended
    for (struct dirent *one; (one = readdir(folder)) != NULL;) {
      pid_t tid = atoi(one->d_name);
      if (tid <= 0 || is_stopped_already(tid) || stopped == THREADS_MAX) continue;
      int done = stop_thread(tid);
      if (done < 0) return closedir(folder), -1;
      more |= done > 0;
    }
    closedir(folder);
  }
  return 0;
}

static void let_go(void) {
  for (int i = 0; i < stopped; i++) ptrace(PTRACE_DETACH, threads[i].tid, 0, (void *)(intptr_t)threads[i].signal);
  stopped = 0;
}

static bool in_the_way(const Span *spans, int count) {
  for (int i = 0; i < stopped; i++) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, threads[i].tid, 0, &registers) != 0) continue;
    for (int k = 0; k < count; k++)
      if (registers.rip > spans[k].low && registers.rip < spans[k].high) return true;
  }
  return false;
}

static int act_on(pid_t pid, const Span *spans, int count, int (*act)(void *), void *given) {
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (stop_threads(pid) != 0) return -1;
    if (!in_the_way(spans, count)) {
      int done = act(given);
      let_go();
      return done;
    }
    let_go();
    usleep(1000);
  }
  fprintf(stderr, "process %d is always at the beginning of reading a clock\n", pid);
  return -1;
}

int while_stopped(pid_t pid, const Span *spans, int count, int (*act)(void *), void *given) {
  pid_t child = fork();
  if (child < 0) return perror("fork"), -1;
  if (child == 0) {
    alarm(TIMEOUT_S);
    _exit(act_on(pid, spans, count, act, given) == 0 ? 0 : 1);
  }
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return perror("waitpid"), -1;
  if (WIFSIGNALED(status)) fprintf(stderr, "process %d does not stop within %d s\n", pid, TIMEOUT_S);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}
