// The operations of the file system: each is done to the folder beneath, by descriptors, under the lock where what is
// durable changes. Answers are never cached by the kernel but for bytes of open files.
#include "diskfs.h"
#include <dirent.h>
#include <stddef.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define ENTRY_HEAD offsetof(struct fuse_dirent, name)

int fuse_fd;

void reply(uint64_t unique, int error, const void *data, size_t size) {
  struct fuse_out_header header = {(uint32_t)(sizeof header + (error ? 0 : size)), -error, unique};
  struct iovec parts[2] = {{&header, sizeof header}, {(void *)data, size}};
  if (writev(fuse_fd, parts, error || !size ? 1 : 2) < 0 && errno != ENOENT) perror("diskfs: reply");
}

// Without the lock: the kernel may wait for pages that wait for us.
void invalidate_all(void) {
  uint64_t *ids;
  pthread_mutex_lock(&lock);
  size_t count = known_ids(&ids);
  pthread_mutex_unlock(&lock);
  for (size_t at = 0; at < count; at++) {
    struct fuse_notify_inval_inode_out out = {ids[at], 0, 0};
    struct fuse_out_header header = {sizeof header + sizeof out, FUSE_NOTIFY_INVAL_INODE, 0};
    struct iovec parts[2] = {{&header, sizeof header}, {&out, sizeof out}};
    if (writev(fuse_fd, parts, 2) < 0) continue; // the kernel has forgotten it
  }
  free(ids);
}

// The path from the root of the file system, without a slash at its beginning.
int path_of(const Inode *inode, char *path, size_t size) {
  char link[64], base[4200], full[4200];
  snprintf(link, sizeof link, "/proc/self/fd/%d", backing_fd);
  ssize_t base_size = readlink(link, base, sizeof base - 1);
  snprintf(link, sizeof link, "/proc/self/fd/%d", inode->path_fd);
  ssize_t full_size = readlink(link, full, sizeof full - 1);
  if (base_size < 0 || full_size < base_size) return -1;
  full[full_size] = 0;
  snprintf(path, size, "%s", full + base_size + (full[base_size] == '/'));
  return 0;
}

enum Op op_of(const struct fuse_in_header *header) {
  const struct fuse_setattr_in *attributes = (const void *)(header + 1);
  const struct fuse_open_in *open_in = (const void *)(header + 1);
  switch (header->opcode) {
    case FUSE_READ: return READ;
    case FUSE_WRITE: case FUSE_FALLOCATE: return WRITE;
    case FUSE_FSYNC: case FUSE_FSYNCDIR: return FSYNC;
    case FUSE_RENAME: case FUSE_RENAME2: return RENAME;
    case FUSE_CREATE: case FUSE_MKNOD: case FUSE_MKDIR: case FUSE_SYMLINK: case FUSE_LINK: return CREATE;
    case FUSE_UNLINK: case FUSE_RMDIR: return UNLINK;
    case FUSE_SETATTR: return attributes->valid & FATTR_SIZE ? TRUNCATE : ATTRIBUTES;
    case FUSE_OPEN: return (open_in->flags & O_ACCMODE) == O_RDONLY ? 0 : OPEN_TO_WRITE;
    default: return 0;
  }
}

static void fill(struct fuse_attr *attributes, const struct stat *status) {
  memset(attributes, 0, sizeof *attributes);
  attributes->ino = status->st_ino, attributes->size = (uint64_t)status->st_size;
  attributes->blocks = (uint64_t)status->st_blocks, attributes->mode = status->st_mode;
  attributes->nlink = (uint32_t)status->st_nlink, attributes->uid = status->st_uid, attributes->gid = status->st_gid;
  attributes->rdev = (uint32_t)status->st_rdev, attributes->blksize = BLOCK;
  attributes->atime = (uint64_t)status->st_atim.tv_sec, attributes->atimensec = (uint32_t)status->st_atim.tv_nsec;
  attributes->mtime = (uint64_t)status->st_mtim.tv_sec, attributes->mtimensec = (uint32_t)status->st_mtim.tv_nsec;
  attributes->ctime = (uint64_t)status->st_ctim.tv_sec, attributes->ctimensec = (uint32_t)status->st_ctim.tv_nsec;
}

static int entry_of(const Inode *folder, const char *name, struct fuse_entry_out *entry, Inode **found) {
  int fd = openat(folder->path_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status)) return errno;
  Inode *inode = inode_known(fd, &status);
  memset(entry, 0, sizeof *entry);
  entry->nodeid = (uint64_t)inode;
  fill(&entry->attr, &status);
  if (found) *found = inode;
  return 0;
}

static bool is_full_folder(const Inode *parent, const char *name) {
  int fd = openat(parent->path_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder) return false;
  int count = 0;
  while (readdir(folder)) count++;
  closedir(folder);
  return count > 2;
}

static int owned_by(const Inode *folder, const char *name, const struct fuse_in_header *header) {
  if (header->uid == geteuid()) return 0;
  return fchownat(folder->path_fd, name, header->uid, header->gid, AT_SYMLINK_NOFOLLOW) ? errno : 0;
}

static void create(const struct fuse_in_header *header, char *body) {
  struct { struct fuse_entry_out entry; struct fuse_open_out open; } out;
  memset(&out, 0, sizeof out);
  Inode *folder = inode_of(header->nodeid), *made = NULL;
  const struct fuse_create_in *create_in = (void *)body;
  const struct fuse_mknod_in *mknod_in = (void *)body;
  const struct fuse_mkdir_in *mkdir_in = (void *)body;
  int fd = -1, failed = 0, error;
  bool fresh = header->opcode != FUSE_LINK;
  char *name = body, link[64];
  if (header->opcode == FUSE_CREATE) name = body + sizeof *create_in;
  if (header->opcode == FUSE_MKNOD) name = body + sizeof *mknod_in;
  if (header->opcode == FUSE_MKDIR) name = body + sizeof *mkdir_in;
  if (header->opcode == FUSE_LINK) name = body + sizeof(struct fuse_link_in);
  pthread_mutex_lock(&lock);
  bool there = faccessat(folder->path_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (!there) remember_name(header->opcode == FUSE_MKDIR ? MADE_FOLDER : MADE, folder, name, NULL, NULL);
  switch (header->opcode) {
    case FUSE_MKDIR: failed = mkdirat(folder->path_fd, name, mkdir_in->mode); break;
    case FUSE_MKNOD: failed = mknodat(folder->path_fd, name, mknod_in->mode, mknod_in->rdev); break;
    case FUSE_SYMLINK: failed = symlinkat(name + strlen(name) + 1, folder->path_fd, name); break;
    case FUSE_LINK:
      snprintf(link, sizeof link, "/proc/self/fd/%d", inode_of(((struct fuse_link_in *)body)->oldnodeid)->path_fd);
      failed = linkat(AT_FDCWD, link, folder->path_fd, name, AT_SYMLINK_FOLLOW);
      break;
    default: {
      int flags = (int)(create_in->flags & ~(uint32_t)(O_APPEND | O_DIRECT | O_SYNC | O_ACCMODE | O_TRUNC));
      fd = openat(folder->path_fd, name, flags | O_RDWR | O_CREAT | O_CLOEXEC, create_in->mode);
      failed = fd < 0;
    }
  }
  error = failed ? errno : 0;
  if (error && !there) forget_name();
  if (!error && !there && header->opcode != FUSE_LINK) error = owned_by(folder, name, header);
  if (!error) error = entry_of(folder, name, &out.entry, &made);
  if (!error && !there && fresh) made->fresh = true;
  pthread_mutex_unlock(&lock);
  out.open.fh = (uint64_t)fd;
  reply(header->unique, error, &out, header->opcode == FUSE_CREATE ? sizeof out : sizeof out.entry);
}

static int removed(const struct fuse_in_header *header, const char *name) {
  Inode *folder = inode_of(header->nodeid);
  bool is_folder = header->opcode == FUSE_RMDIR;
  if (is_folder && is_full_folder(folder, name)) return ENOTEMPTY;
  return remove_to_undo(REMOVED, folder, name);
}

static int renamed(const struct fuse_in_header *header, char *body) {
  const struct fuse_rename2_in *in = (void *)body;
  bool plain = header->opcode == FUSE_RENAME;
  unsigned flags = plain ? 0 : in->flags;
  char *name = body + (plain ? sizeof(struct fuse_rename_in) : sizeof *in), *other_name = name + strlen(name) + 1;
  Inode *folder = inode_of(header->nodeid), *other = inode_of(in->newdir);
  if (flags & ~3u) return EINVAL;
  bool there = faccessat(other->path_fd, other_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (flags & 1 && there) return EEXIST;
  if (!(flags & 2) && is_full_folder(other, other_name)) return ENOTEMPTY;
  int error = remember_name(flags & 2 ? EXCHANGED : RENAMED, folder, name, other, other_name);
  if (error) return error;
  if (syscall(SYS_renameat2, folder->path_fd, name, other->path_fd, other_name, flags)) {
    error = errno;
    forget_name();
  }
  return error;
}

static int resized(Inode *inode, off_t size, const char *path) {
  struct stat status;
  fstat(inode->path_fd, &status);
  if (size > status.st_size && is_full()) return ENOSPC;
  about_to_change(inode, size, status.st_size > size ? status.st_size - size : 0);
  return truncate(path, size) ? errno : 0;
}

static void set_attributes(const struct fuse_in_header *header, const struct fuse_setattr_in *in) {
  Inode *inode = inode_of(header->nodeid);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", inode->path_fd);
  int error = 0;
  pthread_mutex_lock(&lock);
  if (in->valid & FATTR_MODE && chmod(path, in->mode)) error = errno;
  if (!error && in->valid & (FATTR_UID | FATTR_GID)) {
    uid_t uid = in->valid & FATTR_UID ? in->uid : (uid_t)-1;
    gid_t gid = in->valid & FATTR_GID ? in->gid : (gid_t)-1;
    if (fchownat(inode->path_fd, "", uid, gid, AT_EMPTY_PATH)) error = errno;
  }
  if (!error && in->valid & FATTR_SIZE) error = resized(inode, (off_t)in->size, path);
  if (!error && in->valid & (FATTR_ATIME | FATTR_MTIME)) {
    struct timespec times[2] = {{(time_t)in->atime, in->atimensec}, {(time_t)in->mtime, in->mtimensec}};
    if (!(in->valid & FATTR_ATIME)) times[0].tv_nsec = UTIME_OMIT;
    if (!(in->valid & FATTR_MTIME)) times[1].tv_nsec = UTIME_OMIT;
    if (in->valid & FATTR_ATIME_NOW) times[0].tv_nsec = UTIME_NOW;
    if (in->valid & FATTR_MTIME_NOW) times[1].tv_nsec = UTIME_NOW;
    if (utimensat(AT_FDCWD, path, times, 0)) error = errno;
  }
  pthread_mutex_unlock(&lock);
  struct fuse_attr_out out = {0};
  struct stat status;
  fstat(inode->path_fd, &status);
  fill(&out.attr, &status);
  reply(header->unique, error, &out, sizeof out);
}

static void write_bytes(const struct fuse_in_header *header, char *body, bool cut_short) {
  const struct fuse_write_in *in = (void *)body;
  Inode *inode = inode_of(header->nodeid);
  size_t size = cut_short && in->size > 1 ? in->size / 2 : in->size;
  pthread_mutex_lock(&lock);
  about_to_change(inode, (off_t)in->offset, (off_t)size);
  ssize_t wrote = pwrite(inode->write_fd, body + sizeof *in, size, (off_t)in->offset);
  int error = errno;
  // Written past the page cache, so no fsync follows by itself.
  if (wrote >= 0 && in->flags & O_DIRECT && in->flags & O_DSYNC) now_durable(inode);
  pthread_mutex_unlock(&lock);
  struct fuse_write_out out = {wrote < 0 ? 0 : (uint32_t)wrote, 0};
  reply(header->unique, wrote < 0 ? error : 0, &out, sizeof out);
}

static void read_bytes(const struct fuse_in_header *header, const struct fuse_read_in *in, bool cut_short) {
  static __thread char *buffer;
  if (!buffer) buffer = malloc(LARGEST_WRITE + BLOCK);
  size_t size = cut_short && in->size > 1 ? in->size / 2 : in->size;
  ssize_t got = pread((int)in->fh, buffer, size, (off_t)in->offset);
  reply(header->unique, got < 0 ? errno : 0, buffer, got < 0 ? 0 : (size_t)got);
}

// First it counts as durable, then it is synced beneath: what a crash between the two would tell nobody knows yet.
static void synced(const struct fuse_in_header *header, const struct fuse_fsync_in *in) {
  Inode *inode = inode_of(header->nodeid);
  pthread_mutex_lock(&lock);
  inode->lookups++;
  now_durable(inode);
  names_durable();
  pthread_mutex_unlock(&lock);
  int fd = header->opcode == FUSE_FSYNC ? (int)in->fh : dirfd((DIR *)in->fh);
  int error = (in->fsync_flags & 1 ? fdatasync(fd) : fsync(fd)) ? errno : 0;
  pthread_mutex_lock(&lock);
  inode->lookups--;
  pthread_mutex_unlock(&lock);
  reply(header->unique, error, NULL, 0);
}

static void allocated(const struct fuse_in_header *header, const struct fuse_fallocate_in *in) {
  int error = in->mode & ~(uint32_t)(1 | 2 | 16) ? EOPNOTSUPP : 0; // keep size, punch hole, zero range
  pthread_mutex_lock(&lock);
  if (!error) {
    about_to_change(inode_of(header->nodeid), (off_t)in->offset, (off_t)in->length);
    if (fallocate((int)in->fh, (int)in->mode, (off_t)in->offset, (off_t)in->length)) error = errno;
  }
  pthread_mutex_unlock(&lock);
  reply(header->unique, error, NULL, 0);
}

static void list(const struct fuse_in_header *header, const struct fuse_read_in *in) {
  DIR *folder = (DIR *)in->fh;
  char *buffer = calloc(1, in->size);
  size_t used = 0;
  if (in->offset) seekdir(folder, (long)in->offset);
  else rewinddir(folder);
  struct dirent *entry;
  while ((entry = readdir(folder))) {
    if (inode_of(header->nodeid) == &root && !strncmp(entry->d_name, OURS, strlen(OURS))) continue;
    size_t length = strlen(entry->d_name), size = FUSE_DIRENT_ALIGN(ENTRY_HEAD + length);
    if (used + size > in->size) break;
    struct fuse_dirent *out = (void *)(buffer + used);
    out->ino = entry->d_ino, out->off = (uint64_t)telldir(folder);
    out->namelen = (uint32_t)length, out->type = entry->d_type;
    memcpy(out->name, entry->d_name, length);
    used += size;
  }
  reply(header->unique, 0, buffer, used);
  free(buffer);
}

static void room(const struct fuse_in_header *header) {
  struct statfs status;
  struct fuse_statfs_out out = {0};
  fstatfs(backing_fd, &status);
  bool full = is_full();
  out.st.blocks = status.f_blocks, out.st.files = status.f_files, out.st.ffree = status.f_ffree;
  out.st.bfree = full ? 0 : status.f_bfree, out.st.bavail = full ? 0 : status.f_bavail;
  out.st.bsize = out.st.frsize = (uint32_t)status.f_bsize, out.st.namelen = 255;
  reply(header->unique, 0, &out, sizeof out);
}

static void opened(const struct fuse_in_header *header, const struct fuse_open_in *in) {
  struct fuse_open_out out = {0};
  Inode *inode = inode_of(header->nodeid);
  if (header->opcode == FUSE_OPENDIR) {
    int fd = reopen(inode, O_RDONLY | O_DIRECTORY);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    out.fh = (uint64_t)folder;
    reply(header->unique, folder ? 0 : errno, &out, sizeof out);
    return;
  }
  int fd = reopen(inode, (in->flags & O_ACCMODE) == O_RDONLY ? O_RDONLY : O_RDWR);
  out.fh = (uint64_t)fd;
  reply(header->unique, fd < 0 ? errno : 0, &out, sizeof out);
}

static void initialised(const struct fuse_in_header *header, const struct fuse_init_in *in) {
  struct fuse_init_out out = {0};
  out.major = FUSE_KERNEL_VERSION, out.minor = FUSE_KERNEL_MINOR_VERSION, out.max_readahead = in->max_readahead;
  out.flags = in->flags & (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_MAX_PAGES);
  out.max_write = LARGEST_WRITE, out.max_pages = LARGEST_WRITE / BLOCK;
  out.max_background = 64, out.congestion_threshold = 48, out.time_gran = 1;
  reply(header->unique, 0, &out, sizeof out);
}

static void names(const struct fuse_in_header *header, char *body) {
  pthread_mutex_lock(&lock);
  int error = header->opcode == FUSE_UNLINK || header->opcode == FUSE_RMDIR ? removed(header, body)
                                                                            : renamed(header, body);
  pthread_mutex_unlock(&lock);
  reply(header->unique, error, NULL, 0);
}

static void lookup(const struct fuse_in_header *header, const char *name) {
  struct fuse_entry_out out;
  Inode *folder = inode_of(header->nodeid);
  pthread_mutex_lock(&lock);
  int error = folder == &root && !strcmp(name, UNDO) ? ENOENT : entry_of(folder, name, &out, NULL);
  pthread_mutex_unlock(&lock);
  reply(header->unique, error, &out, sizeof out);
}

static void forget_many(const struct fuse_in_header *header, char *body) {
  const struct fuse_forget_one *each = (void *)(body + sizeof(struct fuse_batch_forget_in));
  pthread_mutex_lock(&lock);
  if (header->opcode == FUSE_FORGET)
    forget(inode_of(header->nodeid), ((struct fuse_forget_in *)body)->nlookup);
  else
    for (uint32_t at = 0; at < ((struct fuse_batch_forget_in *)body)->count; at++)
      forget(inode_of(each[at].nodeid), each[at].nlookup);
  pthread_mutex_unlock(&lock);
}

void handle(char *request, bool cut_short) {
  struct fuse_in_header *header = (void *)request;
  char *body = request + sizeof *header;
  uint64_t unique = header->unique;
  switch (header->opcode) {
    case FUSE_INIT: initialised(header, (void *)body); return;
    case FUSE_LOOKUP: lookup(header, body); return;
    case FUSE_FORGET: case FUSE_BATCH_FORGET: forget_many(header, body); return;
    case FUSE_GETATTR: {
      struct fuse_attr_out out = {0};
      struct stat status;
      int error = fstat(inode_of(header->nodeid)->path_fd, &status) ? errno : 0;
      if (!error) fill(&out.attr, &status);
      reply(unique, error, &out, sizeof out);
      return;
    }
    case FUSE_SETATTR: set_attributes(header, (void *)body); return;
    case FUSE_READLINK: {
      char path[4097];
      ssize_t size = readlinkat(inode_of(header->nodeid)->path_fd, "", path, sizeof path - 1);
      reply(unique, size < 0 ? errno : 0, path, size < 0 ? 0 : (size_t)size);
      return;
    }
    case FUSE_MKDIR: case FUSE_MKNOD: case FUSE_SYMLINK: case FUSE_CREATE: case FUSE_LINK: create(header, body); return;
    case FUSE_UNLINK: case FUSE_RMDIR: case FUSE_RENAME: case FUSE_RENAME2: names(header, body); return;
    case FUSE_OPEN: case FUSE_OPENDIR: opened(header, (void *)body); return;
    case FUSE_READ: read_bytes(header, (void *)body, cut_short); return;
    case FUSE_WRITE: write_bytes(header, body, cut_short); return;
    case FUSE_FSYNC: case FUSE_FSYNCDIR: synced(header, (void *)body); return;
    case FUSE_FALLOCATE: allocated(header, (void *)body); return;
    case FUSE_LSEEK: {
      const struct fuse_lseek_in *in = (void *)body;
      struct fuse_lseek_out out = {0};
      off_t found = lseek((int)in->fh, (off_t)in->offset, (int)in->whence);
      out.offset = (uint64_t)found;
      reply(unique, found < 0 ? errno : 0, &out, sizeof out);
      return;
    }
    case FUSE_FLUSH: reply(unique, 0, NULL, 0); return;
    case FUSE_RELEASE: close((int)((struct fuse_release_in *)body)->fh); reply(unique, 0, NULL, 0); return;
    case FUSE_RELEASEDIR: closedir((DIR *)((struct fuse_release_in *)body)->fh); reply(unique, 0, NULL, 0); return;
    case FUSE_READDIR: list(header, (void *)body); return;
    case FUSE_STATFS: room(header); return;
    case FUSE_INTERRUPT: case FUSE_DESTROY: return;
    default: reply(unique, ENOSYS, NULL, 0);
  }
}
