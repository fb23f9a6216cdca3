/* An LD_PRELOAD library that shifts the wall clock by a number of seconds: a 64-bit integer at the beginning of the file that
   CLOCK_OFFSET names. Changes take effect at once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *offset;
static int (*system_clock)(clockid_t, struct timespec *);

__attribute__((constructor)) static void prepare(void) {
    const char *name = getenv("CLOCK_OFFSET");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *mapped = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
        if (mapped != MAP_FAILED) offset = mapped;
        close(file);
    }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!system_clock) *(void **)&system_clock = dlsym(RTLD_NEXT, "clock_gettime");
    int result = system_clock(clock, time);
    if (result == 0 && clock == CLOCK_REALTIME && offset) time->tv_sec += *offset;
    return result;
}
