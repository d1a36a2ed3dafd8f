// What is done to operations: errors, delays, stalls, short transfers, and a crash at an exact one.
//
// rule ID OPS SHARE SKIP TIMES ACTION VALUE GLOB   ACTION: error (VALUE: errno), delay (us), stall, short, crash
// SKIP operations that match pass first; at most TIMES are hit, 0: any number; GLOB is of the path in the file system.
#include "diskfs.h"
#include <fnmatch.h>
#include <signal.h>

#define RULES_MAX 64
#define CALLER_POLL_US 5000
#define LONGEST_HOLD_S 600

enum Action { NONE, ERROR, DELAY, STALL, SHORT, CRASH };
static const char *const ACTIONS[] = {"", "error", "delay", "stall", "short", "crash"};

typedef struct {
  int id;
  unsigned ops;
  double share;
  long skip, times, value;
  enum Action action;
  char glob[256];
  long matched, hit;
} Rule;

static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;
static Rule rules[RULES_MAX];
static int rules_count;
static volatile bool crashed;
static volatile unsigned generation; // changes with the rules, so that what is stalled looks again

bool has_crashed(void) { return crashed; }

static void crash(uint32_t pid) {
  crashed = true;
  if (pid) kill((pid_t)pid, SIGKILL);
}

Verdict ruled(enum Op op, const Inode *inode, uint32_t pid) {
  Verdict verdict = {false, 0, 0, false};
  if (crashed && op & (CHANGES | READ)) {
    verdict.wait = true, verdict.error = EIO;
    return verdict;
  }
  if (!rules_count) return verdict;
  char path[4200] = "";
  path_of(inode, path, sizeof path);
  pthread_mutex_lock(&rules_lock);
  for (int at = 0; at < rules_count; at++) {
    Rule *rule = &rules[at];
    if (!(rule->ops & op) || (strcmp(rule->glob, "*") && fnmatch(rule->glob, path, 0))) continue;
    if (++rule->matched <= rule->skip || (rule->times && rule->hit >= rule->times)) continue;
    if (rule->share < 1 && (double)random() / RAND_MAX >= rule->share) continue;
    rule->hit++;
    switch (rule->action) {
      case ERROR: verdict.error = (int)rule->value; break;
      case DELAY: verdict.wait = true, verdict.delay_us += rule->value; break;
      case STALL: verdict.wait = true, verdict.delay_us = -1; break;
      case SHORT: verdict.cut_short = true; break;
      case CRASH: crash(pid), verdict.wait = true, verdict.error = EIO; break;
      case NONE: break;
    }
  }
  pthread_mutex_unlock(&rules_lock);
  return verdict;
}

// Whether whoever waits for an answer will never see one: it is gone, or was killed and only waits for us.
static bool is_doomed(uint32_t pid) {
  if (!pid) return true;
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%u/status", pid);
  FILE *file = fopen(path, "re");
  if (!file) return true;
  bool doomed = false;
  while (fgets(line, sizeof line, file)) {
    if (!strncmp(line, "SigPnd:", 7) || !strncmp(line, "ShdPnd:", 7))
      doomed |= (strtoull(line + 7, NULL, 16) >> (SIGKILL - 1)) & 1;
    if (!strncmp(line, "State:\tZ", 8) || !strncmp(line, "State:\tX", 8)) doomed = true;
  }
  fclose(file);
  return doomed;
}

// Wait as long as a verdict says. After a crash nobody gets an answer before it was killed.
void wait_out(const Verdict *verdict, uint32_t pid) {
  double until = now_s() + (verdict->delay_us > 0 ? (double)verdict->delay_us / 1e6 : LONGEST_HOLD_S);
  unsigned begun = generation;
  for (;;) {
    double left_us = (until - now_s()) * 1e6;
    bool held = crashed || verdict->delay_us == 0;
    if (left_us <= 0 || (held && !crashed) || (verdict->delay_us < 0 && begun != generation)) return;
    if ((held || verdict->delay_us < 0) && is_doomed(pid)) return;
    usleep((useconds_t)(left_us < CALLER_POLL_US ? left_us : CALLER_POLL_US));
  }
}

bool is_full(void) {
  bool full = false;
  pthread_mutex_lock(&rules_lock);
  for (int at = 0; at < rules_count; at++)
    full |= rules[at].action == ERROR && rules[at].value == ENOSPC && rules[at].share >= 1;
  pthread_mutex_unlock(&rules_lock);
  return full;
}

static void add_rule(const char *words, FILE *out) {
  Rule rule = {0};
  char action[16] = "";
  int read = sscanf(words, "rule %d %u %lf %ld %ld %15s %ld %255s", &rule.id, &rule.ops, &rule.share, &rule.skip,
                    &rule.times, action, &rule.value, rule.glob);
  for (int at = ERROR; at <= CRASH; at++)
    if (!strcmp(action, ACTIONS[at])) rule.action = at;
  if (read != 8 || rule.action == NONE || rules_count == RULES_MAX) {
    fprintf(out, "error=bad-rule\n");
    return;
  }
  rules[rules_count++] = rule;
  fprintf(out, "ok=1\n");
}

void rule_command(char *words, FILE *out) {
  int id = 0;
  pthread_mutex_lock(&rules_lock);
  if (!strncmp(words, "rule ", 5)) {
    add_rule(words, out);
  } else if (sscanf(words, "unrule %d", &id) == 1) {
    int kept = 0;
    for (int at = 0; at < rules_count; at++)
      if (rules[at].id != id) rules[kept++] = rules[at];
    rules_count = kept, generation++;
    fprintf(out, "ok=1\n");
  } else if (!strncmp(words, "rules", 5)) {
    fprintf(out, "rules=%d crashed=%d", rules_count, crashed);
    for (int at = 0; at < rules_count; at++)
      fprintf(out, " matched.%d=%ld hit.%d=%ld", rules[at].id, rules[at].matched, rules[at].id, rules[at].hit);
    fprintf(out, "\n");
  } else if (!strncmp(words, "crash", 5)) {
    crashed = true;
    fprintf(out, "ok=1\n");
  } else if (!strncmp(words, "revive", 6)) {
    crashed = false, generation++;
    fprintf(out, "ok=1\n");
  } else {
    fprintf(out, "error=bad-command\n");
  }
  pthread_mutex_unlock(&rules_lock);
}
