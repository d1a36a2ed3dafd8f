// supervisor run NAME LABEL CALLS PROGRAM...  be PROGRAM; the kernel asks about CALLS ("fsync+fdatasync")
// supervisor ask NAME WORD...                 say one thing to who answers the kernel; what it says is printed
// supervisor probe CALL COUNT                 make a call so often with arguments that do nothing
//
// NAME is an abstract socket; LABEL is node or probe. Whoever comes first starts the process that answers.
#include "supervisor.h"
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

int socket_named(const char *name, int (*use)(int, const struct sockaddr *, socklen_t)) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || use(fd, (struct sockaddr *)&address, size) == 0) return fd;
  close(fd);
  return -1;
}

static void begin_to_serve(const char *name) {
  int listener = socket_named(name, bind);
  if (listener < 0) _exit(errno == EADDRINUSE ? 0 : 1); // another was quicker
  setsid();
  if (listen(listener, 16) || fork()) _exit(0);
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (chdir("/")) _exit(1);
  signal(SIGPIPE, SIG_IGN);
  serve(listener);
}

bool ensure_served(const char *name) {
  for (int attempt = 0; attempt < 100; attempt++) {
    int fd = socket_named(name, connect);
    if (fd >= 0) return close(fd), true;
    pid_t pid = fork();
    if (!pid) begin_to_serve(name);
    if (pid < 0) return false;
    waitpid(pid, NULL, 0);
    struct timespec wait = {0, 10000000};
    if (attempt) nanosleep(&wait, NULL);
  }
  return false;
}

static int ask(const char *name, int count, char **words) {
  char line[LINE_MAX_BYTES], answer[LINE_MAX_BYTES];
  size_t used = 0;
  for (int at = 0; at < count && used < sizeof line; at++)
    used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", at ? " " : "", words[at]);
  int fd = socket_named(name, connect);
  if (fd < 0) return perror(name), 3;
  if (used >= sizeof line || send(fd, line, used, MSG_NOSIGNAL) < 0) return perror("send"), 2;
  ssize_t size = recv(fd, answer, sizeof answer - 1, 0);
  if (size <= 0) return fprintf(stderr, "%s: no answer\n", name), 3;
  answer[size] = 0;
  puts(answer);
  return !strcmp(answer, "error");
}

// What it saw is told by writev, which is never what is probed.
int probe(const char *call, int count) {
  int number = number_of(call);
  if (number < 0) return fprintf(stderr, "no call %s on this machine\n", call), 2;
  size_t room = (size_t)count * 48, used = 0;
  char *said = malloc(room);
  for (int at = 0; at < count; at++) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    int error = syscall(number, -1L, -1L, -1L, -1L, -1L, -1L) < 0 ? errno : 0;
    clock_gettime(CLOCK_MONOTONIC, &after);
    long took = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
    used += (size_t)snprintf(said + used, room - used, "%d %ld\n", error, took);
  }
  for (char *at = said; used;) {
    struct iovec part = {at, used};
    ssize_t size = writev(STDOUT_FILENO, &part, 1);
    if (size <= 0) _exit(1);
    at += size, used -= (size_t)size;
  }
  _exit(0);
}

int main(int count, char **words) {
  if (count >= 6 && !strcmp(words[1], "run")) return launch(words[2], words[3], words[4], words + 5);
  if (count >= 4 && !strcmp(words[1], "ask")) return ask(words[2], count - 3, words + 3);
  if (count == 4 && !strcmp(words[1], "probe")) return probe(words[2], atoi(words[3]));
  fprintf(stderr, "usage: supervisor run NAME LABEL CALLS PROGRAM... | ask NAME WORD... | probe CALL COUNT\n");
  return 2;
}
