// What is durable. Changes go to the files at once; what was there when a file was last synced is kept until it is
// synced again, and so is each change of a name, so that all that was not synced can be taken back in a moment.
//
// A sync of a file makes its bytes and its size durable. A sync of any file or folder makes every change of names
// durable that came before it, as the journals of ext4 and XFS do. What was not synced for a time is written back.
#include "diskfs.h"
#include <sys/syscall.h>
#include <time.h>

#define UNDO_BLOCKS_MAX 65536 // 256 MiB; beyond, the oldest file is written back, as memory pressure does
#define NAMES_MAX 100000

typedef struct Change {
  enum Name what;
  Inode *folder, *other;
  char name[256], other_name[256];
  long kept; // the number under which something removed lies in the folder UNDO; -1: none
  struct Change *before;
} Change;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
Inode root;
int backing_fd;
double written_back_after_s = 30;
static Inode *known[HASH], *dirty_files;
static Change *changes;
static double changes_since;
static long changes_count, undo_number, undo_blocks;
static int undo_fd = -1;
static const char ZEROS[BLOCK];

double now_s(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// ---------------------------------------------------------------- inodes

Inode *inode_of(uint64_t id) { return id == FUSE_ROOT_ID ? &root : (Inode *)id; }

static unsigned hash_of(dev_t device, ino_t number) {
  return (unsigned)((number * 2654435761u) ^ device) & (HASH - 1);
}

Inode *inode_known(int path_fd, const struct stat *status) {
  unsigned hash = hash_of(status->st_dev, status->st_ino);
  Inode *inode = known[hash];
  while (inode && (inode->number != status->st_ino || inode->device != status->st_dev)) inode = inode->next_hash;
  if (inode) {
    close(path_fd);
  } else {
    inode = calloc(1, sizeof *inode);
    inode->path_fd = path_fd, inode->write_fd = -1;
    inode->device = status->st_dev, inode->number = status->st_ino;
    inode->next_hash = known[hash], known[hash] = inode;
  }
  inode->lookups++;
  return inode;
}

int reopen(const Inode *inode, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", inode->path_fd);
  return open(path, flags | O_CLOEXEC);
}

static void free_if_unused(Inode *inode) {
  if (inode == &root || inode->lookups) return;
  if (inode->dirty) {
    struct stat status;
    if (!fstat(inode->path_fd, &status) && status.st_nlink == 0) now_durable(inode); // nobody can see it again
    return;
  }
  Inode **at = &known[hash_of(inode->device, inode->number)];
  while (*at && *at != inode) at = &(*at)->next_hash;
  if (*at) *at = inode->next_hash;
  close(inode->path_fd);
  free(inode);
}

void forget(Inode *inode, uint64_t lookups) {
  if (inode == &root) return;
  inode->lookups -= lookups;
  free_if_unused(inode);
}

size_t known_ids(uint64_t **ids) {
  size_t count = 0, room = 1024;
  *ids = malloc(room * sizeof **ids);
  for (int hash = 0; hash < HASH; hash++)
    for (Inode *inode = known[hash]; inode; inode = inode->next_hash) {
      if (count == room) *ids = realloc(*ids, (room *= 2) * sizeof **ids);
      (*ids)[count++] = (uint64_t)inode;
    }
  return count;
}

// ---------------------------------------------------------------- bytes

static Block *slot_of(Inode *inode, uint64_t number) {
  size_t at = (number * 0x9E3779B97F4A7C15ull >> 20) & (inode->capacity - 1);
  while (inode->blocks[at].number != ~0ull && inode->blocks[at].number != number) at = (at + 1) & (inode->capacity - 1);
  return &inode->blocks[at];
}

static void grow(Inode *inode) {
  size_t had = inode->capacity;
  Block *old = inode->blocks;
  inode->capacity = had ? had * 2 : 64;
  inode->blocks = malloc(inode->capacity * sizeof *old);
  for (size_t at = 0; at < inode->capacity; at++) inode->blocks[at].number = ~0ull;
  for (size_t at = 0; at < had; at++)
    if (old[at].number != ~0ull) *slot_of(inode, old[at].number) = old[at];
  free(old);
}

static void make_dirty(Inode *inode) {
  if (inode->dirty) return;
  struct stat status;
  fstat(inode->path_fd, &status);
  inode->durable_size = inode->fresh ? 0 : status.st_size;
  inode->dirty = true, inode->dirty_since = now_s();
  inode->next_dirty = dirty_files, dirty_files = inode;
  if (inode->write_fd < 0) inode->write_fd = reopen(inode, O_RDWR);
}

// Keep what is durable of these bytes, before they are written, cut off or punched out.
void about_to_change(Inode *inode, off_t from, off_t length) {
  make_dirty(inode);
  off_t end = from + length < inode->durable_size ? from + length : inode->durable_size;
  char buffer[BLOCK];
  for (uint64_t number = (uint64_t)from / BLOCK; (off_t)(number * BLOCK) < end; number++) {
    if (inode->used * 2 >= inode->capacity) grow(inode);
    Block *block = slot_of(inode, number);
    if (block->number == number) continue;
    ssize_t got = pread(inode->write_fd, buffer, BLOCK, (off_t)(number * BLOCK));
    if (got < 0) got = 0;
    memset(buffer + got, 0, (size_t)(BLOCK - got));
    block->number = number, inode->used++;
    block->before = NULL;
    if (memcmp(buffer, ZEROS, BLOCK)) block->before = memcpy(malloc(BLOCK), buffer, BLOCK), undo_blocks++;
  }
}

void now_durable(Inode *inode) {
  inode->fresh = false;
  if (!inode->dirty) return;
  for (size_t at = 0; at < inode->capacity; at++)
    if (inode->blocks[at].number != ~0ull && inode->blocks[at].before) free(inode->blocks[at].before), undo_blocks--;
  free(inode->blocks);
  inode->blocks = NULL, inode->capacity = inode->used = 0, inode->dirty = false;
  if (inode->write_fd >= 0) close(inode->write_fd);
  inode->write_fd = -1;
  Inode **at = &dirty_files;
  while (*at && *at != inode) at = &(*at)->next_dirty;
  if (*at) *at = inode->next_dirty;
  free_if_unused(inode);
}

// ---------------------------------------------------------------- names

static void undo_name(long number, char *name) { sprintf(name, "%ld", number); }

static int undo_folder(void) {
  if (undo_fd < 0) {
    mkdirat(backing_fd, UNDO, 0700);
    undo_fd = openat(backing_fd, UNDO, O_PATH | O_DIRECTORY | O_CLOEXEC);
  }
  return undo_fd;
}

static Change *new_change(enum Name what, Inode *folder, const char *name, Inode *other, const char *other_name) {
  Change *change = calloc(1, sizeof *change);
  change->what = what, change->folder = folder, change->other = other, change->kept = -1;
  snprintf(change->name, sizeof change->name, "%s", name);
  if (other_name) snprintf(change->other_name, sizeof change->other_name, "%s", other_name);
  folder->lookups++;
  if (other) other->lookups++;
  if (!changes) changes_since = now_s();
  change->before = changes, changes = change, changes_count++;
  return change;
}

static int keep_in_undo(Change *change, Inode *folder, const char *name) {
  char kept[32];
  change->kept = undo_number++;
  undo_name(change->kept, kept);
  return renameat(folder->path_fd, name, undo_folder(), kept) ? errno : 0;
}

// Before a change of a name is done. Something that a rename replaces is kept.
int remember_name(enum Name what, Inode *folder, const char *name, Inode *other, const char *other_name) {
  Change *change = new_change(what, folder, name, other, other_name);
  if (what == RENAMED && faccessat(other->path_fd, other_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    int error = keep_in_undo(change, other, other_name);
    if (error) change->kept = -1, forget_name();
    return error;
  }
  return 0;
}

int remove_to_undo(enum Name what, Inode *folder, const char *name) {
  int error = keep_in_undo(new_change(what, folder, name, NULL, NULL), folder, name);
  if (error) changes->kept = -1, forget_name();
  return error;
}

static void let_go(Change *change) {
  changes_count--;
  forget(change->folder, 1);
  if (change->other) forget(change->other, 1);
  free(change);
}

// The last change was not done after all.
void forget_name(void) {
  Change *change = changes;
  changes = change->before;
  if (change->kept >= 0) {
    char kept[32];
    undo_name(change->kept, kept);
    renameat(undo_folder(), kept, change->other->path_fd, change->other_name);
  }
  let_go(change);
}

void names_durable(void) {
  while (changes) {
    Change *change = changes;
    changes = change->before;
    if (change->kept >= 0) {
      char kept[32];
      undo_name(change->kept, kept);
      if (unlinkat(undo_folder(), kept, 0)) unlinkat(undo_folder(), kept, AT_REMOVEDIR);
    }
    let_go(change);
  }
  for (Inode *inode = dirty_files, *next; inode; inode = next) next = inode->next_dirty, free_if_unused(inode);
}

static void take_back(const Change *change) {
  char kept[32];
  undo_name(change->kept, kept);
  int folder = change->folder->path_fd;
  switch (change->what) {
    case MADE: unlinkat(folder, change->name, 0); break;
    case MADE_FOLDER: unlinkat(folder, change->name, AT_REMOVEDIR); break;
    case REMOVED: renameat(undo_folder(), kept, folder, change->name); break;
    case EXCHANGED:
      syscall(SYS_renameat2, folder, change->name, change->other->path_fd, change->other_name, 2);
      break;
    case RENAMED:
      renameat(change->other->path_fd, change->other_name, folder, change->name);
      if (change->kept >= 0) renameat(undo_folder(), kept, change->other->path_fd, change->other_name);
  }
}

// ---------------------------------------------------------------- all of it

void all_durable(void) {
  while (dirty_files) now_durable(dirty_files);
  names_durable();
}

static bool survives(int percent) { return percent && random() % 100 < percent; }

static void roll_back(Inode *inode, int kept_percent, Dropped *dropped) {
  struct stat status;
  fstat(inode->write_fd, &status);
  off_t size = inode->durable_size;
  for (size_t at = 0; at < inode->capacity; at++) {
    Block *block = &inode->blocks[at];
    if (block->number == ~0ull || survives(kept_percent)) continue;
    off_t from = (off_t)(block->number * BLOCK), length = size - from < BLOCK ? size - from : BLOCK;
    if (from >= size) continue;
    dropped->bytes += length;
    if (pwrite(inode->write_fd, block->before ? block->before : ZEROS, (size_t)length, from) < 0) abort();
  }
  if (status.st_size > size) {
    if (survives(kept_percent)) size += random() % (status.st_size - size + 1); // a torn tail
    dropped->bytes += status.st_size - size;
  }
  if (ftruncate(inode->write_fd, size)) abort();
  dropped->files++;
  now_durable(inode);
}

// Power fails: all that is not durable is gone. ``kept_percent`` of what was not synced had reached the disk anyway.
Dropped drop_unsynced(int kept_percent) {
  Dropped dropped = {0, 0, 0};
  while (dirty_files) roll_back(dirty_files, kept_percent, &dropped);
  while (changes) {
    Change *change = changes;
    changes = change->before;
    take_back(change);
    dropped.names++;
    let_go(change);
  }
  return dropped;
}

// As kernels do: what waits for long, or is too much, is written without anybody asking for it.
void write_back_old(void) {
  double limit = now_s() - written_back_after_s;
  Inode *oldest = NULL;
  for (Inode *inode = dirty_files, *next; inode; inode = next) {
    next = inode->next_dirty;
    if (inode->dirty_since < limit) now_durable(inode);
    else if (!oldest || inode->dirty_since < oldest->dirty_since) oldest = inode;
  }
  if (undo_blocks > UNDO_BLOCKS_MAX && oldest) now_durable(oldest);
  if (changes && (changes_since < limit || changes_count > NAMES_MAX)) names_durable();
}

void count_undurable(long *files, long *bytes, long *names) {
  *files = *bytes = 0, *names = changes_count;
  for (Inode *inode = dirty_files; inode; inode = inode->next_dirty) {
    struct stat status;
    fstat(inode->path_fd, &status);
    ++*files;
    *bytes += (long)inode->used * BLOCK + (status.st_size > inode->durable_size ? status.st_size - inode->durable_size : 0);
  }
}
