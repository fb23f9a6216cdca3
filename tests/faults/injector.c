/* Fails chosen system calls of one process: an LD_PRELOAD library that a test controls through a shared file.
 *
 * FAULT_INJECTOR names that file; its layout is `struct control`, and injector.py writes it. While `process` is the id of this
 * process, calls of the chosen kind on files whose path contains `part` are counted over all threads, and those from the
 * `first` to the `first + times - 1`th fail with `error` and do nothing. If `open_error` is set, the same files cannot be opened
 * for writing meanwhile. Other processes are never disturbed. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, SYNC, TRUNCATE, READ };

struct control {
    atomic_int process;
    int kind;
    int error;
    int open_error;
    long first;
    long times;
    atomic_long calls;
    atomic_long failed;
    char part[208];
};

static struct control *control;

__attribute__((constructor)) static void map_control(void) {
    const char *path = getenv("FAULT_INJECTOR");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        control = mapped == MAP_FAILED ? NULL : mapped;
        close(file);
    }
    /* Sandboxed children are started without this library. */
    unsetenv("LD_PRELOAD");
    unsetenv("FAULT_INJECTOR");
}

static int fails(enum kind kind, int file) {
    if (!control || atomic_load(&control->process) != getpid() || control->kind != (int)kind)
        return 0;
    int saved = errno;
    char link[32], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return 0;
    path[length] = 0;
    if (!strstr(path, control->part))
        return 0;
    long call = atomic_fetch_add(&control->calls, 1) + 1;
    if (call < control->first || call - control->first >= control->times)
        return 0;
    atomic_fetch_add(&control->failed, 1);
    errno = control->error;
    return 1;
}

static int fails_to_open(const char *path, int flags) {
    if (!control || atomic_load(&control->process) != getpid() || !control->open_error)
        return 0;
    if ((flags & O_ACCMODE) == O_RDONLY || !strstr(path, control->part))
        return 0;
    errno = control->open_error;
    return 1;
}

#define WRAP_OPEN(name)                                                                                  \
    int name(const char *path, int flags, ...) {                                                         \
        static int (*_Atomic next)(const char *, int, ...);                                              \
        if (!next)                                                                                       \
            next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);                             \
        va_list rest;                                                                                    \
        va_start(rest, flags);                                                                           \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;                        \
        va_end(rest);                                                                                    \
        return fails_to_open(path, flags) ? -1 : next(path, flags, mode);                                \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP(result, name, kind, parameters, arguments)                                                  \
    result name parameters {                                                                             \
        static result(*_Atomic next) parameters;                                                         \
        if (!next)                                                                                       \
            next = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                        \
        return fails(kind, file) ? -1 : next arguments;                                                  \
    }

WRAP(ssize_t, write, WRITE, (int file, const void *bytes, size_t count), (file, bytes, count))
WRAP(ssize_t, writev, WRITE, (int file, const struct iovec *parts, int count), (file, parts, count))
WRAP(ssize_t, pwrite, WRITE, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
WRAP(ssize_t, pwrite64, WRITE, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
WRAP(ssize_t, pread, READ, (int file, void *bytes, size_t count, off_t at), (file, bytes, count, at))
WRAP(ssize_t, pread64, READ, (int file, void *bytes, size_t count, off64_t at), (file, bytes, count, at))
WRAP(int, fsync, SYNC, (int file), (file))
WRAP(int, fdatasync, SYNC, (int file), (file))
WRAP(int, ftruncate, TRUNCATE, (int file, off_t length), (file, length))
WRAP(int, ftruncate64, TRUNCATE, (int file, off64_t length), (file, length))
