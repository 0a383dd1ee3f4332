/*
 * Faults of the disk below SQLite and Node, for the files under DISK_FAULT_DIR. Operations that change a file are counted; the n-th
 * (DISK_FAULT_AT) fails, and so do the next ones (DISK_FAULT_TIMES). DISK_FAULT_KIND:
 *
 *   eio, enospc  the operation fails
 *   short        a write stores half of its bytes and says so; any other operation fails with EIO
 *   cut          the power is cut: what was not synced is gone
 *   lie          from this operation on, no sync does anything; at the operation DISK_FAULT_CUT the power is cut
 *
 * For the cuts, a copy of each file as it was last synced is in DISK_FAULT_SYNCED. DISK_FAULT_COUNT gets the number of operations.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 4096
static char *paths[FILES];
static long count = 0;
static long at = -1, times = 1, cut = -1;
static const char *dir, *kind, *synced, *counter;
static int ready = 0;

static void prepare(void) {
  if (ready) return;
  ready = 1;
  dir = getenv("DISK_FAULT_DIR");
  kind = getenv("DISK_FAULT_KIND");
  synced = getenv("DISK_FAULT_SYNCED");
  counter = getenv("DISK_FAULT_COUNT");
  if (getenv("DISK_FAULT_AT")) at = atol(getenv("DISK_FAULT_AT"));
  if (getenv("DISK_FAULT_TIMES")) times = atol(getenv("DISK_FAULT_TIMES"));
  if (getenv("DISK_FAULT_CUT")) cut = atol(getenv("DISK_FAULT_CUT"));
  if (kind == NULL) kind = "";
}

static int is(const char *name) { return strcmp(kind, name) == 0; }

/* SQLite rebuilds its shared memory, and nothing syncs it. */
static int concerns(const char *path) {
  size_t size = strlen(path);
  prepare();
  if (dir == NULL || strncmp(path, dir, strlen(dir)) != 0) return 0;
  return size < 4 || strcmp(path + size - 4, "-shm") != 0;
}

static int watched(int file) { return file >= 0 && file < FILES && paths[file] != NULL; }

static void shadow(const char *path, char *name) {
  size_t i = 0;
  snprintf(name, PATH_MAX, "%s/%s", synced, path + strlen(dir));
  for (i = strlen(synced) + 1; name[i] != 0; i++) if (name[i] == '/') name[i] = '@';
}

static void copy(const char *from, const char *to) {
  char buffer[65536];
  ssize_t got;
  int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0), out;
  if (in < 0) return;
  out = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  while ((got = syscall(SYS_read, in, buffer, sizeof buffer)) > 0) syscall(SYS_write, out, buffer, (size_t)got);
  syscall(SYS_close, in);
  syscall(SYS_close, out);
}

/* Every file that was written becomes what it was at its last sync; one that was never synced is empty. */
static void cutPower(void) {
  char name[PATH_MAX], *seen[FILES];
  int i, j, known = 0;
  for (i = 0; i < FILES; i++) {
    int isKnown = 0;
    if (paths[i] == NULL) continue;
    for (j = 0; j < known; j++) if (strcmp(seen[j], paths[i]) == 0) isKnown = 1;
    if (isKnown) continue;
    seen[known++] = paths[i];
    shadow(paths[i], name);
    if (syscall(SYS_faccessat, AT_FDCWD, name, F_OK) == 0) copy(name, paths[i]);
    else if (syscall(SYS_faccessat, AT_FDCWD, paths[i], F_OK) == 0) syscall(SYS_truncate, paths[i], 0);
  }
  syscall(SYS_kill, getpid(), 9);
}

/* What happens to the next operation: 0 nothing, 1 it fails, 2 it is cut short, 3 it is a sync that lies. */
static int next(int isWrite, int isSync) {
  char text[32];
  count += 1;
  if (counter != NULL) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, counter, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int size = snprintf(text, sizeof text, "%ld", count);
    syscall(SYS_write, file, text, (size_t)size);
    syscall(SYS_close, file);
  }
  if (is("lie")) {
    if (count == cut) cutPower();
    return isSync && at >= 0 && count >= at ? 3 : 0;
  }
  if (at < 0 || count < at || count >= at + times) return 0;
  if (is("cut")) cutPower();
  if (is("short") && isWrite) return 2;
  errno = is("enospc") ? ENOSPC : EIO;
  return 1;
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__) = NULL; if (real == NULL) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static void opened(int file, const char *path) {
  char whole[PATH_MAX];
  char name[PATH_MAX];
  if (file < 0 || file >= FILES || !concerns(path)) return;
  snprintf(whole, sizeof whole, "%s", path);
  free(paths[file]);
  paths[file] = strdup(whole);
  /* What was there before this process is on the disk. */
  if (synced != NULL) {
    shadow(path, name);
    if (syscall(SYS_faccessat, AT_FDCWD, name, F_OK) != 0) copy(path, name);
  }
}

static int openAny(const char *symbol, const char *path, int flags, mode_t mode) {
  REAL(int, symbol, const char *, int, ...);
  int isNew = concerns(path) && (flags & O_CREAT) != 0 && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
  int file;
  if (isNew && next(0, 0) == 1) return -1;
  file = real(path, flags, mode);
  opened(file, path);
  return file;
}

int open(const char *path, int flags, ...) {
  va_list list;
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) { va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
  return openAny("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list list;
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) { va_start(list, flags); mode = va_arg(list, mode_t); va_end(list); }
  return openAny("open64", path, flags, mode);
}

int close(int file) {
  REAL(int, "close", int);
  if (watched(file)) { free(paths[file]); paths[file] = NULL; }
  return real(file);
}

ssize_t write(int file, const void *bytes, size_t size) {
  REAL(ssize_t, "write", int, const void *, size_t);
  int fault = watched(file) ? next(1, 0) : 0;
  return fault == 1 ? -1 : real(file, bytes, fault == 2 ? size / 2 : size);
}

static ssize_t pwriteAny(const char *symbol, int file, const void *bytes, size_t size, off64_t offset) {
  REAL(ssize_t, symbol, int, const void *, size_t, off64_t);
  int fault = watched(file) ? next(1, 0) : 0;
  return fault == 1 ? -1 : real(file, bytes, fault == 2 ? size / 2 : size, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) { return pwriteAny("pwrite", file, bytes, size, offset); }
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) { return pwriteAny("pwrite64", file, bytes, size, offset); }

static int syncAny(const char *symbol, int file) {
  REAL(int, symbol, int);
  char name[PATH_MAX];
  int fault = watched(file) ? next(0, 1) : 0, result;
  if (fault == 1) return -1;
  if (fault == 3) return 0;
  result = real(file);
  if (result == 0 && watched(file) && synced != NULL) { shadow(paths[file], name); copy(paths[file], name); }
  return result;
}

int fsync(int file) { return syncAny("fsync", file); }
int fdatasync(int file) { return syncAny("fdatasync", file); }

int ftruncate(int file, off_t size) {
  REAL(int, "ftruncate", int, off_t);
  return watched(file) && next(0, 0) == 1 ? -1 : real(file, size);
}

int ftruncate64(int file, off64_t size) {
  REAL(int, "ftruncate64", int, off64_t);
  return watched(file) && next(0, 0) == 1 ? -1 : real(file, size);
}

int rename(const char *from, const char *to) {
  REAL(int, "rename", const char *, const char *);
  return concerns(to) && next(0, 0) == 1 ? -1 : real(from, to);
}
