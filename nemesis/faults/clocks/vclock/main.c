// vclock run HOME PID_FILE TOKEN LEASE BASE RATE DELTA HALF   move the clock of the node whose home this is, until SIGTERM
// vclock restore TOKEN   give every process of the host its clock back that was moved under this token
// vclock try             move the clock of a process of our own, and give it back, in both ways that there are
//
// A process that the node starts is found some milliseconds after its fork or exec; until then a fork has the clock of its
// parent, and a program that was just executed the machine's.
#define _GNU_SOURCE
#include "vclock.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 16384
#define LOOK_MS 5
#define NUMBERS_MAX 1000    // of more that were given since the last look, or from the first again, all are listed
#define RENEWALS_PER_LEASE 4
#define FIRST_ROUNDS 20
#define ROUNDS_MAX 50       // of giving back, while processes fork
#define TRIED_S 3600
#define TRIED_NS 60000000000ll

typedef struct { pid_t pid; uint64_t start, block; } Moved;

static Process all[PROCESSES_MAX];
static Moved moved[PROCESSES_MAX];
static int moved_count;
static volatile sig_atomic_t ended;

static void on_end(int number) {
  (void)number;
  ended = 1;
}

static int known(pid_t pid) {
  for (int i = 0; i < moved_count; i++)
    if (moved[i].pid == pid) return i;
  return -1;
}

// Returns -1 if the clock of a process that lives could not be moved; it is tried again with the next look.
static int move_one(const Process *one, uint64_t token, const Shift *shift) {
  int at = known(one->pid);
  if (at < 0) {
    if (moved_count == PROCESSES_MAX) return -1;
    at = moved_count++;
  }
  moved[at] = (Moved){one->pid, one->start, 0};
  return move_clock(one->pid, token, shift, &moved[at].block) == 0 || kill(one->pid, 0) != 0 ? 0 : -1;
}

// Move the clocks of all processes of the node; returns how many could not be moved.
static int move_all(pid_t root, uint64_t start, uint64_t token, const Shift *shift) {
  int failed = 0, count = list_processes(all, PROCESSES_MAX);
  mark_tree(all, count, root, start);
  for (int i = 0; i < count; i++) failed += all[i].ours && move_one(&all[i], token, shift) != 0;
  return failed;
}

// Those that have begun since: numbers are given one after the other.
static void move_new(pid_t root, long after, long last, uint64_t token, const Shift *shift) {
  for (long pid = after + 1; pid <= last; pid++) {
    Process one;
    if (read_process((pid_t)pid, &one) && (one.session == root || known(one.parent) >= 0) && !is_thread((pid_t)pid))
      move_one(&one, token, shift);
  }
}

// What was the node's once stays so, whoever its parent is now, until it ends. Who has executed a program has a new clock.
static void move_again(uint64_t token, const Shift *shift) {
  for (int i = moved_count - 1; i >= 0; i--) {
    Process one;
    if (has_block(moved[i].pid, token, moved[i].block)) continue;
    if (read_process(moved[i].pid, &one) && one.start == moved[i].start) move_one(&one, token, shift);
    else moved[i] = moved[--moved_count];
  }
}

// A process that is forked from one that was not yet restored is found in the next round.
static int restore_all(uint64_t token) {
  for (int round = 0; round < ROUNDS_MAX; round++) {
    int found = 0, count = list_processes(all, PROCESSES_MAX);
    for (int i = 0; i < count; i++) {
      int done = restore_clock(all[i].pid, token);
      if (done < 0 && kill(all[i].pid, 0) == 0 && round == ROUNDS_MAX - 1) return 1;
      found += done != 0;
    }
    if (found == 0) return 0;
  }
  fprintf(stderr, "processes with another clock begin all the time\n");
  return 1;
}

static void keep_moving(const char *home, uint64_t token, int64_t lease, Shift *shift) {
  long last = -1, seen = -1;
  pid_t root = 0, root_seen = 0;
  uint64_t start = 0, start_seen = 0;
  while (!ended) {
    if (wall_now() > shift->until - lease + lease / RENEWALS_PER_LEASE) {
      shift->until = wall_now() + lease;
      for (int i = 0; i < moved_count; i++) renew_clock(moved[i].pid, moved[i].block, shift->until);
    }
    last = last_pid();
    bool other = node_process(home, &root, &start) && (root != root_seen || start != start_seen);
    move_again(token, shift);
    if (other || last < seen || last > seen + NUMBERS_MAX) move_all(root, start, token, shift);
    else move_new(root, seen, last, token, shift);
    seen = last;
    root_seen = root;
    start_seen = start;
    usleep(LOOK_MS * 1000);
  }
}

static void to_background(const char *pid_file) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) _exit((perror("fork"), 1));
  if (child > 0) {
    FILE *file = fopen(pid_file, "w");
    if (file == NULL || fprintf(file, "%d\n", child) < 0 || fclose(file) != 0) _exit((perror(pid_file), 1));
    printf("%d\n", moved_count);
    fflush(stdout);
    _exit(0);
  }
  setsid();
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
}

static int run(char **words) {
  uint64_t token = strtoull(words[2], NULL, 16);
  int64_t now = wall_now();
  int64_t lease = atoll(words[3]);
  Shift shift = {now + lease, now, atoll(words[4]), atoll(words[5]), atoll(words[6]), atoll(words[7])};
  pid_t root;
  uint64_t start;
  signal(SIGTERM, on_end);
  if (!node_process(words[0], &root, &start)) return fputs("the node has no process\n", stderr), 1;
  int failed = 1; // a process that executes a program just now cannot be moved a moment long
  for (int round = 0; round < FIRST_ROUNDS && failed != 0; round++) {
    if (round > 0) usleep(LOOK_MS * 1000);
    failed = move_all(root, start, token, &shift);
  }
  if (failed != 0 || moved_count == 0) {
    if (moved_count == 0) fprintf(stderr, "the node has no process\n");
    restore_all(token);
    return 1;
  }
  to_background(words[1]);
  keep_moving(words[0], token, lease, &shift);
  return restore_all(token);
}

// How far the clock of libc is ahead of the kernel's, in s, rounded.
static long ahead(clockid_t clock) {
  struct timespec here, there;
  syscall(SYS_clock_gettime, clock, &there);
  clock_gettime(clock, &here);
  return (here.tv_sec * 10 + here.tv_nsec / 100000000 - there.tv_sec * 10 - there.tv_nsec / 100000000 + 5) / 10;
}

// A process of our own tells how far its clocks are ahead, whenever it is asked.
static pid_t start_teller(int *ask_it, int *hear) {
  int to[2], from[2];
  if (pipe(to) != 0 || pipe(from) != 0) return perror("pipe"), -1;
  pid_t child = fork();
  if (child == 0) {
    char c;
    close(to[1]);
    while (read(to[0], &c, 1) == 1) {
      long seen[2] = {ahead(CLOCK_REALTIME), ahead(CLOCK_MONOTONIC)};
      if (write(from[1], seen, sizeof seen) < 0) break;
    }
    _exit(0);
  }
  close(to[0]);
  close(from[1]);
  *ask_it = to[1];
  *hear = from[0];
  return child;
}

static bool tells(int ask_it, int hear, long wanted) {
  long seen[2] = {0, 0};
  if (write(ask_it, "x", 1) != 1 || read(hear, seen, sizeof seen) != sizeof seen) return false;
  if (seen[0] != wanted || seen[1] != 0)
    fprintf(stderr, "a clock that should be ahead by %ld s is by %ld s, monotonic time by %ld s\n", wanted, seen[0], seen[1]);
  return seen[0] == wanted && seen[1] == 0;
}

static int try_it(void) {
  int ask_it = -1, hear = -1;
  bool good = true;
  for (int round = 0; round < 2 && good; round++) {
    ask_kernel = round == 0;
    pid_t child = start_teller(&ask_it, &hear);
    int64_t now = wall_now();
    Shift shift = {.until = now + TRIED_NS, .anchor = now, .base = TRIED_S * 1000000000ll};
    uint64_t block;
    good = child > 0 && move_clock(child, 1, &shift, &block) == 0 && tells(ask_it, hear, TRIED_S) &&
                restore_clock(child, 1) == 1 && tells(ask_it, hear, 0);
    if (child > 0) kill(child, SIGKILL), waitpid(child, NULL, 0);
    close(ask_it);
    close(hear);
  }
  return good ? 0 : 1;
}

int main(int count, char **words) {
  if (count == 10 && strcmp(words[1], "run") == 0) return run(words + 2);
  if (count == 3 && strcmp(words[1], "restore") == 0) return restore_all(strtoull(words[2], NULL, 16));
  if (count == 2 && strcmp(words[1], "try") == 0) return try_it();
  fputs("see main.c\n", stderr);
  return 2;
}
