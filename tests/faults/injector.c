/* Fails chosen calls of one process: an LD_PRELOAD library that a test controls through a shared file.
 *
 * FAULT_INJECTOR names that file; its layout is `struct control`, and injector.py writes it. While `process` is the id of this
 * process, each rule counts the calls of its kind whose path contains `part`, over all threads, and fails those from the `first`
 * to the `first + times - 1`th with `error`: they do nothing. Other processes are never disturbed. A process that starts while
 * `process` is NEXT puts its own id there, so that the calls of its start are counted too.
 *
 * Only calls through the C library are seen. Not seen are pages written through mappings, and programs of the crate `rustix`,
 * which makes its system calls itself. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, SYNC, TRUNCATE, OPEN, RENAME, UNLINK, ALLOCATE, READ, OPEN_FOR_WRITING };

#define MAX_RULES 8
#define NEXT (-1)

struct rule {
    int kind;
    int error;
    long first;
    long times;
    atomic_long calls;
    atomic_long failed;
    char part[208];
};

struct control {
    atomic_int process;
    int rules;
    /* SQLite's hard heap limit in bytes, 0 for none. Only a process with the addresses of SQLite's functions in its environment applies it. */
    atomic_long heap_limit;
    atomic_long applied_limit;
    struct rule rule[MAX_RULES];
};

typedef int64_t heap_function(int64_t limit);
typedef int config_function(int option, ...);

/* SQLITE_CONFIG_MEMSTATUS of sqlite3.h. SQLite is built without statistics of memory, and applies the limit only with them. */
#define CONFIG_MEMORY_STATISTICS 9

static struct control *control;

static int is_controlled(void) { return control && atomic_load(&control->process) == getpid(); }

static int of_the_program(struct dl_phdr_info *program, size_t size, void *base) {
    (void)size;
    *(uintptr_t *)base = program->dlpi_addr;
    /* The first one is the program itself. */
    return 1;
}

/* Applies the heap limit from a thread of its own: it has to change while all others wait. */
static void *apply_heap_limit(void *function) {
    long limit = 0;
    for (;;) {
        long wanted = atomic_load(&control->heap_limit);
        if (wanted != limit && is_controlled()) {
            ((heap_function *)function)(limit = wanted);
            atomic_store(&control->applied_limit, limit);
        }
        usleep(500);
    }
    return NULL;
}

__attribute__((constructor)) static void map_control(void) {
    const char *path = getenv("FAULT_INJECTOR"), *function = getenv("FAULT_HEAP_FUNCTION");
    const char *config = getenv("FAULT_CONFIG_FUNCTION");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        control = mapped == MAP_FAILED ? NULL : mapped;
        close(file);
    }
    if (control) {
        int next = NEXT;
        atomic_compare_exchange_strong(&control->process, &next, getpid());
    }
    if (control && function && config) {
        uintptr_t base = 0;
        pthread_t thread;
        dl_iterate_phdr(of_the_program, &base);
        /* Before main, because it is refused once SQLite is initialized. */
        ((config_function *)(base + strtoul(config, NULL, 16)))(CONFIG_MEMORY_STATISTICS, 1);
        pthread_create(&thread, NULL, apply_heap_limit, (void *)(base + strtoul(function, NULL, 16)));
    }
    /* Sandboxed children are started without this library. */
    unsetenv("LD_PRELOAD");
    unsetenv("FAULT_INJECTOR");
    unsetenv("FAULT_HEAP_FUNCTION");
    unsetenv("FAULT_CONFIG_FUNCTION");
}

static int has_rule(enum kind kind) {
    if (!is_controlled())
        return 0;
    for (int number = 0; number < control->rules; number++)
        if (control->rule[number].kind == (int)kind)
            return 1;
    return 0;
}

/* Whether a rule fails this call; if so, `errno` is set. */
static int fails(enum kind kind, const char *path) {
    int error = 0;
    for (int number = 0; number < control->rules; number++) {
        struct rule *rule = &control->rule[number];
        if (rule->kind != (int)kind || !strstr(path, rule->part))
            continue;
        long call = atomic_fetch_add(&rule->calls, 1) + 1;
        if (call < rule->first || call - rule->first >= rule->times)
            continue;
        atomic_fetch_add(&rule->failed, 1);
        error = rule->error;
    }
    if (error)
        errno = error;
    return error != 0;
}

/* The path of an open file or folder, of at most `size - 1` bytes. */
static int path_of(int file, char *path, size_t size) {
    int saved = errno;
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, size - 1);
    errno = saved;
    path[length < 0 ? 0 : length] = 0;
    return length >= 0;
}

static int fails_file(enum kind kind, int file) {
    char path[512];
    return has_rule(kind) && path_of(file, path, sizeof path) && fails(kind, path);
}

static int fails_name(enum kind kind, int folder, const char *name) {
    char parent[512] = "", path[1024];
    if (!has_rule(kind))
        return 0;
    if (name[0] != '/' && folder != AT_FDCWD)
        path_of(folder, parent, sizeof parent);
    snprintf(path, sizeof path, "%s/%s", parent, name);
    return fails(kind, path);
}

static int fails_open(int folder, const char *name, int flags) {
    int fails_any = fails_name(OPEN, folder, name);
    int fails_writing = (flags & O_ACCMODE) != O_RDONLY && fails_name(OPEN_FOR_WRITING, folder, name);
    return fails_any || fails_writing;
}

static int fails_rename(const char *from, const char *to) {
    char both[1024];
    if (!has_rule(RENAME))
        return 0;
    snprintf(both, sizeof both, "%s\n%s", from, to);
    return fails(RENAME, both);
}

#define WRAP(result, name, parameters, arguments, condition, failure)                                    \
    result name parameters {                                                                             \
        static result(*_Atomic next) parameters;                                                         \
        if (!next)                                                                                       \
            next = (result(*) parameters)dlsym(RTLD_NEXT, #name);                                        \
        return (condition) ? (failure) : next arguments;                                                 \
    }

#define WRAP_FILE(result, name, kind, parameters, arguments)                                             \
    WRAP(result, name, parameters, arguments, fails_file(kind, file), -1)

WRAP_FILE(ssize_t, write, WRITE, (int file, const void *bytes, size_t count), (file, bytes, count))
WRAP_FILE(ssize_t, writev, WRITE, (int file, const struct iovec *parts, int count), (file, parts, count))
WRAP_FILE(ssize_t, pwrite, WRITE, (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at))
WRAP_FILE(ssize_t, pwrite64, WRITE, (int file, const void *bytes, size_t count, off64_t at), (file, bytes, count, at))
WRAP_FILE(ssize_t, pread, READ, (int file, void *bytes, size_t count, off_t at), (file, bytes, count, at))
WRAP_FILE(ssize_t, pread64, READ, (int file, void *bytes, size_t count, off64_t at), (file, bytes, count, at))
WRAP_FILE(int, fsync, SYNC, (int file), (file))
WRAP_FILE(int, fdatasync, SYNC, (int file), (file))
WRAP_FILE(int, ftruncate, TRUNCATE, (int file, off_t length), (file, length))
WRAP_FILE(int, ftruncate64, TRUNCATE, (int file, off64_t length), (file, length))
WRAP_FILE(int, fallocate, ALLOCATE, (int file, int mode, off_t at, off_t length), (file, mode, at, length))
WRAP_FILE(int, fallocate64, ALLOCATE, (int file, int mode, off64_t at, off64_t length), (file, mode, at, length))
/* These two return their error. */
WRAP(int, posix_fallocate, (int file, off_t at, off_t length), (file, at, length), fails_file(ALLOCATE, file), errno)
WRAP(int, posix_fallocate64, (int file, off64_t at, off64_t length), (file, at, length), fails_file(ALLOCATE, file), errno)

WRAP(int, unlink, (const char *name), (name), fails_name(UNLINK, AT_FDCWD, name), -1)
WRAP(int, unlinkat, (int folder, const char *name, int flags), (folder, name, flags), fails_name(UNLINK, folder, name), -1)
WRAP(int, rename, (const char *from, const char *to), (from, to), fails_rename(from, to), -1)
WRAP(int, renameat, (int folder, const char *from, int other, const char *to), (folder, from, other, to),
     fails_rename(from, to), -1)
WRAP(int, renameat2, (int folder, const char *from, int other, const char *to, unsigned int flags),
     (folder, from, other, to, flags), fails_rename(from, to), -1)

#define MODE(flags)                                                                                      \
    mode_t mode = 0;                                                                                     \
    if (__OPEN_NEEDS_MODE(flags)) {                                                                      \
        va_list rest;                                                                                    \
        va_start(rest, flags);                                                                           \
        mode = va_arg(rest, mode_t);                                                                     \
        va_end(rest);                                                                                    \
    }

#define WRAP_OPEN(function)                                                                              \
    int function(const char *name, int flags, ...) {                                                     \
        MODE(flags)                                                                                      \
        static int (*_Atomic next)(const char *, int, ...);                                              \
        if (!next)                                                                                       \
            next = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #function);                         \
        return fails_open(AT_FDCWD, name, flags) ? -1 : next(name, flags, mode);                          \
    }

#define WRAP_OPENAT(function)                                                                            \
    int function(int folder, const char *name, int flags, ...) {                                         \
        MODE(flags)                                                                                      \
        static int (*_Atomic next)(int, const char *, int, ...);                                         \
        if (!next)                                                                                       \
            next = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, #function);                    \
        return fails_open(folder, name, flags) ? -1 : next(folder, name, flags, mode);                    \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)
