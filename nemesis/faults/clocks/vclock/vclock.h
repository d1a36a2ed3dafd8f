// Another wall clock for chosen processes: their vDSO, the code by which they read clocks, is led to code of ours.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ENTRY_SIZE 5 // a jump: e9 and where to
#define ENTRIES 3

// What the wall clock shows beside the machine's: base + rate * (now - anchor), and delta more in every second half of a
// period. After `until` nothing is added: if nobody renews it, clocks are right again by themselves. Times in ns.
typedef struct {
  int64_t until, anchor, base;
  int64_t rate; // a fraction, times 2^32
  int64_t delta, half;
} Shift;

// What lies at the end of the vDSO of a process whose clock is moved; stub.c has the code that follows it.
typedef struct {
  uint64_t magic, token; // whose it is
  Shift shift;
  unsigned char saved[ENTRIES][8]; // what the entries held
} Block;

extern const char block_start[], block_end[], ask[], after_ask[], on_clock_gettime[], on_gettimeofday[], on_time[];

// patch.c. What may fail returns -1, and says why in one line on standard error.
extern bool ask_kernel; // for every reading, also where the vDSO itself could be asked, which is ten times as quick
int64_t wall_now(void);
// Move the clock of a process, unless it is: a fork has the clock of its parent. Says where the block is.
int move_clock(pid_t pid, uint64_t token, const Shift *shift, uint64_t *block);
bool has_block(pid_t pid, uint64_t token, uint64_t block); // no longer after an exec
int renew_clock(pid_t pid, uint64_t block, int64_t until);
// Returns 1 if it was moved under this token, 0 if not.
int restore_clock(pid_t pid, uint64_t token);

// stop.c: do something to a process none of whose threads runs, nor is about to go on within `low` to `high` of one of
// these places. In a process of its own: if that ends, however it does, all threads go on.
typedef struct { uint64_t low, high; } Span;
int while_stopped(pid_t pid, const Span *spans, int count, int (*act)(void *), void *given);

// tree.c: the node's process by its pid file, its session and all that descend from it.
typedef struct { pid_t pid, parent, session; uint64_t start; bool ours; } Process;
bool read_process(pid_t pid, Process *one);            // false if it has ended
bool is_thread(pid_t pid);                             // and no process of its own
int list_processes(Process *found, int most);          // all of the host; returns how many
int mark_tree(Process *all, int count, pid_t root, uint64_t start); // sets `ours`; returns of how many
bool node_process(const char *home, pid_t *pid, uint64_t *start);
long last_pid(void);                                   // changes whenever a process or a thread begins
