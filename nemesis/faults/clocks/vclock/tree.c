// Which processes are the node's: what its pid file names, its session, and all that descend from these.
#define _GNU_SOURCE
#include "vclock.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_file(const char *path, char *text, int size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t got = read(fd, text, (size_t)size - 1);
  close(fd);
  text[got < 0 ? 0 : got] = 0;
  return (int)got;
}

bool read_process(pid_t pid, Process *one) {
  char path[64], text[1024], state;
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (read_file(path, text, sizeof text) <= 0) return false;
  char *after = strrchr(text, ')');
  *one = (Process){.pid = pid};
  return after != NULL &&
         sscanf(after + 1, " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lu", &state,
                &one->parent, &one->session, &one->start) == 4 &&
         strchr("ZX", state) == NULL;
}

bool is_thread(pid_t pid) {
  char path[64], text[512];
  int leader;
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  char *line = read_file(path, text, sizeof text) > 0 ? strstr(text, "\nTgid:") : NULL;
  return line == NULL || sscanf(line, "\nTgid: %d", &leader) != 1 || leader != pid;
}

int list_processes(Process *found, int most) {
  DIR *folder = opendir("/proc");
  if (folder == NULL) return 0;
  int count = 0;
  for (struct dirent *one; count < most && (one = readdir(folder)) != NULL;)
    if (atoi(one->d_name) > 0 && read_process(atoi(one->d_name), &found[count])) count++;
  closedir(folder);
  return count;
}

static bool is_ours(const Process *all, int count, pid_t pid) {
  for (int i = 0; i < count; i++)
    if (all[i].pid == pid) return all[i].ours;
  return false;
}

int mark_tree(Process *all, int count, pid_t root, uint64_t start) {
  int marked = 0;
  for (int i = 0; i < count; i++) {
    bool other = all[i].pid == root && all[i].start != start; // the number is another's now
    if (other) return 0;
    all[i].ours = all[i].pid == root || all[i].session == root;
    marked += all[i].ours;
  }
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < count; i++) {
      if (all[i].ours || !is_ours(all, count, all[i].parent)) continue;
      all[i].ours = more = true;
      marked++;
    }
  }
  return marked;
}

bool node_process(const char *home, pid_t *pid, uint64_t *start) {
  char path[4096], text[128];
  snprintf(path, sizeof path, "%s/process.pid", home);
  return read_file(path, text, sizeof text) > 0 && sscanf(text, "%d %lu", pid, start) == 2;
}

long last_pid(void) {
  char text[128];
  if (read_file("/proc/loadavg", text, sizeof text) <= 0) return -1;
  char *last = strrchr(text, ' ');
  return last == NULL ? -1 : atol(last + 1);
}
