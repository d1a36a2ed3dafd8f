// Finds the vDSO of a process, puts our block at its end, and leads its entries there and back again.
#define _GNU_SOURCE
#include "vclock.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x6b636f6c63736f61ull
#define IMAGE_MAX 65536
#define BLOCK_SIZE ((size_t)(block_end - block_start))

// The vDSO of one process, as it is in its memory.
typedef struct {
  pid_t pid;
  uint64_t low, block;
  uint64_t entry[ENTRIES]; // offsets; 0: there is none
  size_t size;
  unsigned char image[IMAGE_MAX];
} Vdso;

typedef struct { const Vdso *vdso; const Block *block; bool moved; } Change;

static unsigned char code[4096]; // the block as it is written

static const char *const NAMES[ENTRIES] = {"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time"};
static const char *const STUBS[ENTRIES] = {on_clock_gettime, on_gettimeofday, on_time};

bool ask_kernel;

int64_t wall_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static int open_memory(pid_t pid, int flags) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  return open(path, flags | O_CLOEXEC);
}

static bool write_memory(int fd, uint64_t at, const void *data, size_t size) {
  return pwrite(fd, data, size, (off_t)at) == (ssize_t)size;
}

static bool find_mapping(Vdso *vdso) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/maps", vdso->pid);
  FILE *file = fopen(path, "re");
  uint64_t high = 0;
  if (file == NULL) return false;
  while (high == 0 && fgets(line, sizeof line, file) != NULL)
    if (strstr(line, "[vdso]") == NULL || sscanf(line, "%lx-%lx", &vdso->low, &high) != 2) high = 0;
  fclose(file);
  vdso->size = high - vdso->low;
  return high != 0 && vdso->size <= IMAGE_MAX;
}

// The symbols lie between the tables that the dynamic section names; the block goes to the end, behind all that is loaded.
static bool read_layout(Vdso *vdso) {
  const Elf64_Ehdr *head = (const void *)vdso->image;
  const Elf64_Phdr *part = (const void *)(vdso->image + head->e_phoff);
  uint64_t symbols = 0, strings = 0, used = 0;
  if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return false;
  for (int i = 0; i < head->e_phnum; i++) {
    if (part[i].p_type == PT_LOAD && part[i].p_offset + part[i].p_filesz > used) used = part[i].p_offset + part[i].p_filesz;
    if (part[i].p_type != PT_DYNAMIC) continue;
    for (const Elf64_Dyn *one = (const void *)(vdso->image + part[i].p_offset); one->d_tag != DT_NULL; one++) {
      if (one->d_tag == DT_SYMTAB) symbols = one->d_un.d_ptr;
      if (one->d_tag == DT_STRTAB) strings = one->d_un.d_ptr;
    }
  }
  if (symbols == 0 || strings <= symbols || strings >= vdso->size || used + BLOCK_SIZE > vdso->size) return false;
  vdso->block = (vdso->size - BLOCK_SIZE) & ~15ull;
  const Elf64_Sym *symbol = (const void *)(vdso->image + symbols);
  for (size_t i = 0; i < (strings - symbols) / sizeof *symbol; i++)
    for (int k = 0; k < ENTRIES; k++)
      if (strcmp((const char *)vdso->image + strings + symbol[i].st_name, NAMES[k]) == 0) vdso->entry[k] = symbol[i].st_value;
  return vdso->block >= used && vdso->entry[0] != 0;
}

// Returns whether there is one that can be used; what is wrong is left to who asks to say.
static bool read_vdso(pid_t pid, Vdso *vdso) {
  memset(vdso, 0, offsetof(Vdso, image));
  vdso->pid = pid;
  if (!find_mapping(vdso)) return false;
  int fd = open_memory(pid, O_RDONLY);
  if (fd < 0) return false;
  bool whole = pread(fd, vdso->image, vdso->size, (off_t)vdso->low) == (ssize_t)vdso->size;
  close(fd);
  return whole && read_layout(vdso);
}

static const Block *block_of(const Vdso *vdso) { return (const void *)(vdso->image + vdso->block); }

static bool holds(const Vdso *vdso, uint64_t token) {
  return block_of(vdso)->magic == MAGIC && block_of(vdso)->token == token;
}

static void jump_to(unsigned char *entry, uint64_t from, uint64_t to) {
  int32_t distance = (int32_t)(to - (from + ENTRY_SIZE));
  entry[0] = 0xe9;
  memcpy(entry + 1, &distance, sizeof distance);
}

// The length of an instruction that does the same wherever it is, since it names registers only; 0 if it is another.
static size_t movable(const unsigned char *at) {
  size_t rex = (at[0] & 0xf0) == 0x40;
  const unsigned char *op = at + rex;
  bool registers = op[1] >= 0xc0;
  if (memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0) return 4;                                        // endbr64
  if ((op[0] & 0xf8) == 0x50) return rex + 1;                                                   // push
  if (strchr("\x89\x8b\x31\x85\x39", op[0]) != NULL && op[0] && registers) return rex + 2;      // mov, xor, test, cmp
  if (op[0] == 0x83 && registers) return rex + 3;                                               // and, sub, cmp with a byte
  return 0;
}

// Have `ask` do what the entry did, and go on behind the jump that lies there now; as it is it asks the kernel.
static void lead_back(const Vdso *vdso, unsigned char *to) {
  const unsigned char *entry = vdso->image + vdso->entry[0];
  size_t length = 0, room = (size_t)(after_ask - ask) - ENTRY_SIZE;
  uint64_t place = vdso->block + (uint64_t)(ask - block_start);
  while (length < ENTRY_SIZE) {
    size_t one = movable(entry + length);
    if (one == 0 || length + one > room) return;
    length += one;
  }
  memcpy(to, entry, length);
  jump_to(to + length, place + length, vdso->entry[0] + length);
}

static void entry_bytes(const Vdso *vdso, int k, bool moved, const Block *block, unsigned char *bytes) {
  if (moved) jump_to(bytes, vdso->entry[k], vdso->block + (uint64_t)(STUBS[k] - block_start));
  else memcpy(bytes, block->saved[k], ENTRY_SIZE);
}

static bool is_led_away(const Vdso *vdso) {
  unsigned char wanted[ENTRY_SIZE];
  entry_bytes(vdso, 0, true, NULL, wanted);
  return memcmp(vdso->image + vdso->entry[0], wanted, ENTRY_SIZE) == 0;
}

// The block first, and of all that is written the entries last, so that whoever comes finds something whole.
static int write_change(void *given) {
  const Change *change = given;
  const Vdso *vdso = change->vdso;
  int fd = open_memory(vdso->pid, O_RDWR);
  bool good = fd >= 0;
  if (change->moved) {
    memcpy(code, block_start, BLOCK_SIZE);
    memcpy(code, change->block, sizeof *change->block);
    if (!ask_kernel) lead_back(vdso, code + (ask - block_start));
    good = good && write_memory(fd, vdso->low + vdso->block, code, BLOCK_SIZE);
  }
  for (int k = 0; k < ENTRIES && good; k++) {
    unsigned char bytes[ENTRY_SIZE];
    entry_bytes(vdso, k, change->moved, change->block, bytes);
    good = vdso->entry[k] == 0 || write_memory(fd, vdso->low + vdso->entry[k], bytes, ENTRY_SIZE);
  }
  if (!good) fprintf(stderr, "process %d: its memory cannot be written: %s\n", vdso->pid, strerror(errno));
  if (fd >= 0) close(fd);
  return good ? 0 : -1;
}

// A thread that a signal took away from within an entry, and that is in its handler now, is not seen here.
static int write_stopped(Change *change) {
  Span spans[ENTRIES];
  for (int k = 0; k < ENTRIES; k++) {
    uint64_t at = change->vdso->low + change->vdso->entry[k];
    spans[k] = (Span){at, at + ENTRY_SIZE};
  }
  return while_stopped(change->vdso->pid, spans, ENTRIES, write_change, change);
}

int move_clock(pid_t pid, uint64_t token, const Shift *shift, uint64_t *block_at) {
  static Vdso vdso;
  if (!read_vdso(pid, &vdso)) {
    fprintf(stderr, "process %d may not be looked into, or has no vDSO of x86-64 with room in it\n", pid);
    return -1;
  }
  *block_at = vdso.low + vdso.block;
  if (is_led_away(&vdso)) {
    if (holds(&vdso, token)) return 0;
    fprintf(stderr, "the clock of process %d is moved by another fault\n", pid);
    return -1;
  }
  Block block = {.magic = MAGIC, .token = token, .shift = *shift};
  for (int k = 0; k < ENTRIES; k++) memcpy(block.saved[k], vdso.image + vdso.entry[k], ENTRY_SIZE);
  return write_stopped(&(Change){&vdso, &block, true});
}

bool has_block(pid_t pid, uint64_t token, uint64_t block) {
  uint64_t found[2];
  int fd = open_memory(pid, O_RDONLY);
  bool good = fd >= 0 && pread(fd, found, sizeof found, (off_t)block) == sizeof found;
  if (fd >= 0) close(fd);
  return good && found[0] == MAGIC && found[1] == token;
}

int renew_clock(pid_t pid, uint64_t block, int64_t until) {
  int fd = open_memory(pid, O_RDWR);
  bool good = fd >= 0 && write_memory(fd, block + offsetof(Block, shift.until), &until, sizeof until);
  if (fd >= 0) close(fd);
  return good ? 0 : -1;
}

int restore_clock(pid_t pid, uint64_t token) {
  static Vdso vdso;
  if (!read_vdso(pid, &vdso) || !holds(&vdso, token) || !is_led_away(&vdso)) return 0;
  return write_stopped(&(Change){&vdso, block_of(&vdso), false}) == 0 ? 1 : -1;
}
