// What the parts of diskfs share. A file system that passes everything through, remembers what was not synced, and
// does to operations what rules say. It speaks the kernel's FUSE protocol on /dev/fuse and needs no library.
#ifndef DISKFS_H
#define DISKFS_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 4096
#define LARGEST_WRITE (1 << 20)
#define HASH 65536
#define UNDO ".chaos-undo" // holds what was removed until that is durable; nobody sees it
#define OURS ".chaos-"     // names that listings leave out

// What was in a block when the file was last synced; NULL: zeros.
typedef struct { uint64_t number; char *before; } Block;

typedef struct Inode {
  uint64_t lookups; // by the kernel, and by changes of names that are not durable
  dev_t device;
  ino_t number;
  int path_fd, write_fd;
  bool fresh; // made and never synced: durably it is empty
  bool dirty;
  double dirty_since;
  off_t durable_size;
  Block *blocks;
  size_t capacity, used;
  struct Inode *next_hash, *next_dirty;
} Inode;

enum Op { READ = 1, WRITE = 2, FSYNC = 4, RENAME = 8, CREATE = 16, UNLINK = 32, TRUNCATE = 64, OPEN_TO_WRITE = 128,
          ATTRIBUTES = 256 };
#define CHANGES (WRITE | RENAME | CREATE | UNLINK | TRUNCATE | ATTRIBUTES | FSYNC)

enum Name { MADE, MADE_FOLDER, REMOVED, RENAMED, EXCHANGED };

typedef struct { long files, bytes, names; } Dropped;

extern pthread_mutex_t lock; // of everything in durable.c
extern Inode root;
extern int backing_fd;
extern double written_back_after_s;

// durable.c
double now_s(void);
Inode *inode_of(uint64_t id);
Inode *inode_known(int path_fd, const struct stat *status); // takes the descriptor
int reopen(const Inode *inode, int flags);
void forget(Inode *inode, uint64_t lookups);
void about_to_change(Inode *inode, off_t from, off_t length);
void now_durable(Inode *inode);
void names_durable(void);
void all_durable(void);
int remember_name(enum Name what, Inode *folder, const char *name, Inode *other, const char *other_name);
int remove_to_undo(enum Name what, Inode *folder, const char *name);
void forget_name(void);
Dropped drop_unsynced(int kept_percent);
void write_back_old(void);
void count_undurable(long *files, long *bytes, long *names);
size_t known_ids(uint64_t **ids);

// rules.c
typedef struct { bool wait; long delay_us; int error; bool cut_short; } Verdict;
Verdict ruled(enum Op op, const Inode *inode, uint32_t pid);
void wait_out(const Verdict *verdict, uint32_t pid);
bool is_full(void);
bool has_crashed(void);
void rule_command(char *words, FILE *out); // rule, unrule, rules, crash, revive

// files.c
int path_of(const Inode *inode, char *path, size_t size);
enum Op op_of(const struct fuse_in_header *header);
void handle(char *request, bool cut_short);
void reply(uint64_t unique, int error, const void *data, size_t size);
void invalidate_all(void);
extern int fuse_fd;
#endif
