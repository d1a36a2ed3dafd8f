// Answers the kernel about calls of programs, by rules, and whoever gives them. One thread: what has to wait stands in a
// list until it is due.
#include "supervisor.h"
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>

#define RULES_MAX 16
#define PROGRAMS_MAX 256
#define WAITING_MAX 8192 // calls that stand in the list; more go on at once
#define FIRST 1          // where programs begin in the list of what is looked at
#define LABELS 2

static const char *const labels[LABELS] = {"node", "probe"};

typedef struct { int numbers[CALLS_MAX], count; uint64_t every, seen[LABELS]; } Part;

// ``id`` 0: none. ``error``: the errno, or 0: wait. ``share``: of what comes to each part's turn, in millionths.
typedef struct {
  long id;
  int error, parts;
  uint64_t wait_ns, share, random, calls[LABELS], hits[LABELS];
  Part part[CALLS_MAX];
} Rule;

typedef struct { int label; pid_t pid; } Program;
typedef struct { int fd; uint64_t id, due_ns; long rule; } Waiting;

static Rule rules[RULES_MAX];
static Program programs[PROGRAMS_MAX + FIRST];
static struct pollfd watched[PROGRAMS_MAX + FIRST];
static int watching = FIRST;
static Waiting waiting[WAITING_MAX];
static int waiters;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t draw(uint64_t *state) { // xorshift64*, Vigna 2014
  *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1DULL >> 32;
}

// An id that is no longer known is of a call whose process was killed meanwhile.
static void answer(int fd, uint64_t id, int error) {
  struct seccomp_notif_resp said = {.id = id, .error = -error, .flags = error ? 0 : SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &said);
}

static bool hits(Rule *rule, int number, int label) {
  bool hit = false, matched = false;
  for (int at = 0; at < rule->parts; at++)
    for (int call = 0; call < rule->part[at].count; call++) {
      Part *part = &rule->part[at];
      if (part->numbers[call] != number) continue;
      matched = true;
      hit |= ++part->seen[label] % part->every == 0 && draw(&rule->random) % 1000000 < rule->share;
    }
  rule->calls[label] += matched;
  rule->hits[label] += hit;
  return hit;
}

static void decide(int fd, int label) {
  static union { struct seccomp_notif asked; char room[4096]; } got; // a later kernel may tell more
  memset(&got, 0, sizeof got);
  if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &got.asked)) return;
  int error = 0;
  long by = 0;
  uint64_t wait_ns = 0;
  for (Rule *rule = rules; rule < rules + RULES_MAX; rule++) {
    if (!rule->id || !hits(rule, got.asked.data.nr, label)) continue;
    if (rule->error) error = rule->error;
    else if (rule->wait_ns > wait_ns) wait_ns = rule->wait_ns, by = rule->id;
  }
  if (error || !wait_ns || waiters == WAITING_MAX) answer(fd, got.asked.id, error);
  else waiting[waiters++] = (Waiting){fd, got.asked.id, now_ns() + wait_ns, by};
}

// Let those go on that are due, whose rule is gone, or whose program is; until when the next must wait, 0 if there is none.
static uint64_t let_go(long rule, int fd) {
  uint64_t now = now_ns(), next = 0;
  for (int at = 0; at < waiters;) {
    Waiting *one = &waiting[at];
    if (one->due_ns <= now || one->rule == rule || one->fd == fd) {
      answer(one->fd, one->id, 0);
      *one = waiting[--waiters];
    } else {
      if (!next || one->due_ns < next) next = one->due_ns;
      at++;
    }
  }
  return next;
}

static Rule *rule_with(long id) {
  for (int at = 0; at < RULES_MAX; at++)
    if (rules[at].id == id) return &rules[at];
  return NULL;
}

// rule ID ERRNO MICROSECONDS SHARE SEED NAMES:EVERY...
static bool put_rule(char *words) {
  Rule *rule = rule_with(0);
  if (!rule) return false;
  Rule made = {0};
  double share;
  unsigned long microseconds;
  int used = 0;
  if (sscanf(words, "%ld %d %lu %lf %lu%n", &made.id, &made.error, &microseconds, &share, &made.random, &used) != 5)
    return false;
  made.wait_ns = microseconds * 1000, made.share = (uint64_t)(share * 1e6 + 0.5), made.random |= 1;
  char *rest = NULL;
  for (char *word = strtok_r(words + used, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    char *colon = strchr(word, ':');
    if (!colon || made.parts == CALLS_MAX) return false;
    *colon = 0;
    Part *part = &made.part[made.parts++];
    part->every = strtoul(colon + 1, NULL, 10);
    part->count = numbers_of(word, part->numbers);
    if (!part->every || !part->count) return false;
  }
  *rule = made;
  return made.id > 0;
}

static void tell(char *said, long id) {
  Rule none = {0}, *rule = id ? rule_with(id) : NULL;
  if (!rule) rule = &none;
  int in_force = 0, size = 0;
  for (int at = 0; at < RULES_MAX; at++) in_force += rules[at].id != 0;
  for (int label = 0; label < LABELS; label++)
    size += snprintf(said + size, LINE_MAX_BYTES - (size_t)size, "%s.calls=%lu %s.hits=%lu ", labels[label],
                     rule->calls[label], labels[label], rule->hits[label]);
  size += snprintf(said + size, LINE_MAX_BYTES - (size_t)size, "rules=%d waiting=%d pids=", in_force, waiters);
  for (int at = FIRST; at < watching && size < LINE_MAX_BYTES - 32; at++)
    if (!programs[at].label) size += snprintf(said + size, LINE_MAX_BYTES - (size_t)size, "+%d", programs[at].pid);
}

static bool take(const char *words, int fd) {
  char label[16];
  pid_t pid;
  if (fd < 0 || watching == PROGRAMS_MAX + FIRST || sscanf(words, "%15s %d", label, &pid) != 2) return false;
  programs[watching] = (Program){strcmp(label, labels[0]) != 0, pid};
  watched[watching++] = (struct pollfd){fd, POLLIN, 0};
  return true;
}

// Read one message and obey it. Whoever connects has said it by the time it is read, or is not heard.
static void obey(int connection) {
  char words[LINE_MAX_BYTES], said[LINE_MAX_BYTES] = "k", room[CMSG_SPACE(sizeof(int))];
  struct iovec part = {words, sizeof words - 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
  struct pollfd ready = {connection, POLLIN, 0};
  if (poll(&ready, 1, 1000) != 1) return;
  ssize_t size = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
  if (size <= 0) return;
  words[size] = 0;
  int fd = -1;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(header), sizeof fd);
  bool good = true;
  if (!strncmp(words, "take ", 5)) good = take(words + 5, fd);
  else if (!strncmp(words, "rule ", 5)) good = put_rule(words + 5);
  else if (!strncmp(words, "unrule ", 7)) {
    long id = strtol(words + 7, NULL, 10);
    Rule *rule = id ? rule_with(id) : NULL;
    if (rule) rule->id = 0;
    let_go(id, -1);
  } else if (!strncmp(words, "tell ", 5)) tell(said, strtol(words + 5, NULL, 10));
  else if (!strcmp(words, "quit")) send(connection, "k", 1, MSG_NOSIGNAL), exit(0);
  else good = false;
  const char *answer = good ? said : "error";
  send(connection, answer, strlen(answer), MSG_NOSIGNAL);
}

static void forget(int at) {
  let_go(-1, watched[at].fd);
  close(watched[at].fd);
  watched[at] = watched[--watching];
  programs[at] = programs[watching];
}

void serve(int listener) {
  watched[0] = (struct pollfd){listener, POLLIN, 0};
  for (;;) {
    uint64_t next = let_go(-1, -1), now = now_ns(), left = next > now ? next - now : 0;
    struct timespec wait = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    if (ppoll(watched, (nfds_t)watching, next ? &wait : NULL, NULL) < 0) continue;
    for (int at = watching - 1; at >= FIRST; at--) {
      if (watched[at].revents & POLLIN) decide(watched[at].fd, programs[at].label);
      else if (watched[at].revents & (POLLHUP | POLLERR)) forget(at);
    }
    if (watched[0].revents & POLLIN) {
      int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
      if (connection >= 0) obey(connection), close(connection);
    }
  }
}
