// diskfs mount FOLDER NAME   mount over FOLDER, and obey whoever connects to the abstract socket NAME
// diskfs ask NAME WORD...    one command to such a file system; what it answers is printed
// diskfs unmount FOLDER      take the file system away again; fine if there is none
#include "diskfs.h"
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define WORKERS 4
#define WAITING_MAX 512 // operations that wait by a thread of their own; more wait in a worker

static volatile int waiting;

typedef struct { char *request; Verdict verdict; } Job;

// Pages that the kernel writes for who is gone or was killed are taken even after a crash: they are lost as unsynced.
// An error would be told to whoever syncs the file next.
static enum Op op_now(const struct fuse_in_header *header) {
  const struct fuse_write_in *in = (const void *)(header + 1);
  if (has_crashed() && header->opcode == FUSE_WRITE && in->write_flags & FUSE_WRITE_CACHE) return 0;
  return op_of(header);
}

static void finish(char *request, const Verdict *verdict) {
  struct fuse_in_header *header = (void *)request;
  if (verdict->wait) wait_out(verdict, header->pid);
  int error = verdict->error ? verdict->error : has_crashed() && op_now(header) & CHANGES ? EIO : 0;
  if (error) reply(header->unique, error, NULL, 0);
  else handle(request, verdict->cut_short);
}

static void *wait_apart(void *given) {
  Job *job = given;
  finish(job->request, &job->verdict);
  free(job->request);
  free(job);
  __sync_fetch_and_sub(&waiting, 1);
  return NULL;
}

static bool set_apart(const char *request, size_t size, const Verdict *verdict) {
  if (__sync_add_and_fetch(&waiting, 1) > WAITING_MAX) {
    __sync_fetch_and_sub(&waiting, 1);
    return false;
  }
  Job *job = malloc(sizeof *job);
  job->request = memcpy(malloc(size + 1), request, size);
  job->request[size] = 0;
  job->verdict = *verdict;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 17);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  bool begun = pthread_create(&thread, &attributes, wait_apart, job) == 0;
  pthread_attr_destroy(&attributes);
  if (begun) return true;
  free(job->request);
  free(job);
  __sync_fetch_and_sub(&waiting, 1);
  return false;
}

static void *work(void *unused) {
  (void)unused;
  size_t room = LARGEST_WRITE + 65536;
  char *request = malloc(room);
  for (;;) {
    ssize_t size = read(fuse_fd, request, room);
    if (size < 0) {
      if (errno == EINTR || errno == ENOENT || errno == EAGAIN) continue;
      exit(errno == ENODEV ? 0 : 1); // unmounted
    }
    struct fuse_in_header *header = (void *)request;
    enum Op op = op_now(header);
    Verdict none = {false, 0, 0, false}, verdict = op ? ruled(op, inode_of(header->nodeid), header->pid) : none;
    if (!verdict.wait || !set_apart(request, (size_t)size, &verdict)) finish(request, &verdict);
  }
}

static void *write_back(void *unused) {
  (void)unused;
  for (;;) {
    sleep(1);
    pthread_mutex_lock(&lock);
    if (!has_crashed()) write_back_old();
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static void obey(char *words, FILE *out) {
  int kept_percent = 0;
  long files, bytes, changed;
  if (!strncmp(words, "drop", 4)) {
    sscanf(words, "drop %d", &kept_percent);
    pthread_mutex_lock(&lock);
    Dropped dropped = drop_unsynced(kept_percent);
    pthread_mutex_unlock(&lock);
    invalidate_all();
    fprintf(out, "files=%ld bytes=%ld names=%ld\n", dropped.files, dropped.bytes, dropped.names);
  } else if (!strncmp(words, "unsynced", 8)) {
    pthread_mutex_lock(&lock);
    count_undurable(&files, &bytes, &changed);
    pthread_mutex_unlock(&lock);
    fprintf(out, "files=%ld bytes=%ld names=%ld pid=%d\n", files, bytes, changed, getpid());
  } else if (!strncmp(words, "sync", 4)) {
    pthread_mutex_lock(&lock);
    all_durable();
    pthread_mutex_unlock(&lock);
    fprintf(out, "ok=1\n");
  } else if (sscanf(words, "written-back-after %lf", &written_back_after_s) == 1) {
    fprintf(out, "ok=1\n");
  } else {
    rule_command(words, out);
  }
}

static socklen_t address_of(const char *name, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s", name);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
}

static int socket_named(const char *name, int (*use)(int, const struct sockaddr *, socklen_t)) {
  struct sockaddr_un address;
  socklen_t size = address_of(name, &address);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return fd >= 0 && use(fd, (struct sockaddr *)&address, size) == 0 ? fd : -1;
}

static void serve(int listener) {
  struct timeval patience = {5, 0};
  for (;;) {
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
    char words[512];
    if (fgets(words, sizeof words, in)) obey(words, out);
    fclose(out);
    fclose(in);
  }
}

static int ask(const char *name, int count, char **words) {
  int fd = socket_named(name, connect);
  if (fd < 0) return perror(name), 3;
  FILE *out = fdopen(dup(fd), "w"), *in = fdopen(fd, "r");
  for (int at = 0; at < count; at++) fprintf(out, "%s%s", at ? " " : "", words[at]);
  fprintf(out, "\n");
  fclose(out);
  char line[8192];
  if (!fgets(line, sizeof line, in)) return fprintf(stderr, "%s: no answer\n", name), 3;
  fputs(line, stdout);
  return strncmp(line, "error", 5) == 0;
}

static int mount_over(const char *folder, const char *name) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  umask(0);
  backing_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (backing_fd < 0) return perror(folder), 1;
  root.path_fd = backing_fd, root.write_fd = -1, root.lookups = 1;
  fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fuse_fd < 0) return perror("/dev/fuse"), 1;
  int listener = socket_named(name, bind);
  if (listener < 0 || listen(listener, 16)) return perror(name), 1;
  char options[200];
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other,default_permissions",
           fuse_fd, getuid(), getgid());
  if (mount("diskfs", folder, "fuse.diskfs", MS_NOSUID | MS_NODEV, options)) return perror("mount"), 1;
  pid_t pid = fork();
  if (pid < 0) return perror("fork"), umount2(folder, MNT_DETACH), 1;
  if (pid) return 0;
  setsid();
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (chdir("/")) return 1;
  signal(SIGPIPE, SIG_IGN);
  pthread_t thread;
  for (int at = 0; at < WORKERS; at++) pthread_create(&thread, NULL, work, NULL);
  pthread_create(&thread, NULL, write_back, NULL);
  serve(listener);
  return 0;
}

int main(int count, char **words) {
  if (count >= 4 && !strcmp(words[1], "mount")) return mount_over(words[2], words[3]);
  if (count >= 4 && !strcmp(words[1], "ask")) return ask(words[2], count - 3, words + 3);
  if (count == 3 && !strcmp(words[1], "unmount"))
    return umount2(words[2], MNT_DETACH) && errno != EINVAL && errno != ENOENT ? perror(words[2]), 1 : 0;
  fprintf(stderr, "usage: diskfs mount FOLDER NAME | ask NAME WORD... | unmount FOLDER\n");
  return 2;
}
