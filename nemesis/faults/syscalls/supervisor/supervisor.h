// What the parts of the supervisor share. A launcher has the kernel ask us before each of some system calls of a program
// that was not changed; a supervisor answers: go on, go on later, or fail with an errno.
#ifndef SUPERVISOR_H
#define SUPERVISOR_H
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CALLS_MAX 64 // in one filter, and in one rule
#define LINE_MAX_BYTES 4096

// The number of a call on this machine; -1 if it has none of that name.
int number_of(const char *name);

// The numbers of "read+readv", at most CALLS_MAX; how many.
int numbers_of(char *names, int *numbers);

// A socket of the name, bound or connected; -1 with errno if that fails.
int socket_named(const char *name, int (*use)(int, const struct sockaddr *, socklen_t));

// Make sure that somebody serves the name: a process in the background, in a session of its own.
bool ensure_served(const char *name);

// Answer the kernel and whoever connects, until somebody says quit.
void serve(int listener);

// Become a program whose calls are asked for; returns only if that fails, and has said why.
int launch(const char *name, const char *label, char *calls, char **program);

// Make a call so often with arguments that do nothing; prints "errno microseconds" for each.
int probe(const char *call, int count);

#endif
