/* Faults below a program's calls of the system, by LD_PRELOAD. tests/faults.rs builds and drives it.
 *
 * Only calls about files below GAMUT_FAULT_DIR count. A call site is the chain of return addresses up to main, relative
 * to the program's own code, so that a site has one number in every run and on every thread.
 *
 * No such file is really synced: processes die here, and the machine goes on, so nobody could tell.
 *
 * GAMUT_FAULT_LOG=FILE          appends "OP SITE" at the first call of each site, and at exit a line "total WHAT N" for
 *                               the bytes written, the calls, and the calls that a fault befell
 * GAMUT_FAULT=OP:SITE:ERRNO     the first call of the site fails with this error
 * GAMUT_FAULT=OP:SITE:short     a write or read of the site does half of its bytes, every time
 * GAMUT_FAULT=each:EINTR        the first open, read, write and fsync of each site is interrupted; with a log only
 * GAMUT_FAULT=each:short        each write and read does half of its bytes
 * GAMUT_FAULT=kill:bytes:N      the process kills itself when so many bytes are written, in the middle of a write
 * GAMUT_FAULT=kill:calls:N      the process kills itself before its nth call
 * GAMUT_FAULT=kill:after:N      the process kills itself N microseconds after its start, whatever it does then
 * GAMUT_FAULT=stop:calls:N      the process stops before its nth call, until somebody lets it go on
 * GAMUT_FAULT_CLOCK=1           the clock goes back by a second each time that it is read
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FDS 65536
#define SITES 65536
#define DEPTH 40

static const char *dir;
static size_t dir_len;
static int log_fd = -1;
static char want_op[16];
static uint64_t want_site;
static int want_errno, want_short, want_each;
static uint64_t kill_bytes, kill_calls, kill_after, stop_calls;
static uint64_t base_low, base_high;
static volatile uint64_t bytes, calls, befallen;
static volatile int failed;
static unsigned char ours[FDS];
static uint64_t seen[SITES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;

/* The program itself is the first object of the list. */
static int first_object(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    base_low = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uint64_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > base_high) base_high = end;
    }
    return 1;
}

static void die(int number) {
    (void)number;
    kill(getpid(), SIGKILL);
}

__attribute__((constructor)) static void begin(void) {
    dir = getenv("GAMUT_FAULT_DIR");
    if (!dir) return;
    dir_len = strlen(dir);
    dl_iterate_phdr(first_object, NULL);
    /* The first call loads a library. */
    void *frames[2];
    backtrace(frames, 2);
    const char *log = getenv("GAMUT_FAULT_LOG");
    if (log) log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const char *fault = getenv("GAMUT_FAULT");
    char what[32];
    if (!fault) return;
    if (sscanf(fault, "kill:bytes:%lu", &kill_bytes) == 1 || sscanf(fault, "kill:calls:%lu", &kill_calls) == 1 ||
        sscanf(fault, "stop:calls:%lu", &stop_calls) == 1)
        return;
    if (sscanf(fault, "kill:after:%lu", &kill_after) == 1) {
        struct itimerval once = {{0, 0}, {kill_after / 1000000, kill_after % 1000000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &once, NULL);
        return;
    }
    if (sscanf(fault, "each:%31s", what) == 1) {
        want_each = 1;
        want_short = !strcmp(what, "short");
        want_errno = want_short ? 0 : EINTR;
        return;
    }
    if (sscanf(fault, "%15[a-z]:%lx:%31s", want_op, &want_site, what) == 3) {
        want_short = !strcmp(what, "short");
        want_errno = want_short ? 0 : atoi(what);
    }
}

__attribute__((destructor)) static void end(void) {
    if (log_fd >= 0) dprintf(log_fd, "total bytes %lu\ntotal calls %lu\ntotal befallen %lu\n", bytes, calls, befallen);
}

static int is_ours(const char *path) { return dir && path && !strncmp(path, dir, dir_len); }
static int fd_is_ours(int fd) { return dir && fd >= 0 && fd < FDS && ours[fd]; }

static uint64_t site_of(const char *op) {
    void *frames[DEPTH];
    uint64_t site = 1469598103934665603u;
    int n = backtrace(frames, DEPTH);
    for (int i = 0; i < n; i++) {
        uint64_t at = (uint64_t)frames[i];
        if (at < base_low || at >= base_high) continue;
        site = (site ^ (at - base_low)) * 1099511628211u;
    }
    for (; *op; op++) site = (site ^ (unsigned char)*op) * 1099511628211u;
    return site;
}

/* True at the first call of a site, which is logged. */
static int is_new(const char *op, uint64_t site) {
    pthread_mutex_lock(&lock);
    uint64_t at = site % SITES;
    while (seen[at] && seen[at] != site) at = (at + 1) % SITES;
    int first = !seen[at];
    if (first) {
        seen[at] = site;
        dprintf(log_fd, "%s %lx\n", op, site);
    }
    pthread_mutex_unlock(&lock);
    return first;
}

/* The error of a call of this site, or 0; -1 for half of its bytes. */
static int fault_of(const char *op, uint64_t site, int first) {
    if (want_each) {
        int halves = !strcmp(op, "write") || !strcmp(op, "read");
        if (want_short) return halves ? -1 : 0;
        return first && (halves || !strcmp(op, "open") || !strcmp(op, "fsync")) ? want_errno : 0;
    }
    if (site != want_site || strcmp(op, want_op)) return 0;
    if (want_short) return -1;
    return __atomic_exchange_n(&failed, 1, __ATOMIC_SEQ_CST) ? 0 : want_errno;
}

/* Counts a call. Returns the error that it has to fail with, or 0; -1 for half of its bytes. */
static int call(const char *op) {
    if (inside) return 0;
    uint64_t number = __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
    if (kill_calls && number == kill_calls) kill(getpid(), SIGKILL);
    if (stop_calls && number == stop_calls) kill(getpid(), SIGSTOP);
    if (log_fd < 0 && !want_each && !(want_site && !strcmp(op, want_op))) return 0;
    inside = 1;
    uint64_t site = site_of(op);
    int first = log_fd >= 0 && is_new(op, site);
    inside = 0;
    int fault = fault_of(op, site, first);
    if (fault) __atomic_add_fetch(&befallen, 1, __ATOMIC_SEQ_CST);
    return fault;
}

#define REAL(name) \
    static __typeof__(name) *real; \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
#define FAIL(op, value) \
    do { \
        int fault = call(op); \
        if (fault > 0) { \
            errno = fault; \
            return value; \
        } \
    } while (0)

static int opened(int fd, int is) {
    if (fd >= 0 && fd < FDS) ours[fd] = is;
    return fd;
}

static int open_at(int at, const char *path, int flags, mode_t mode) {
    /* A path below an open directory of ours is ours. */
    int is = is_ours(path) || (path && path[0] != '/' && at != AT_FDCWD && fd_is_ours(at));
    if (is && (!(flags & O_DIRECTORY) || (flags & O_TMPFILE) == O_TMPFILE)) FAIL("open", -1);
    return opened(syscall(SYS_openat, at, path, flags, mode), is);
}

#define OPEN(name, at, args) \
    int name args { \
        mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { \
            va_list more; \
            va_start(more, flags); \
            mode = va_arg(more, mode_t); \
            va_end(more); \
        } \
        return open_at(at, path, flags, mode); \
    }
OPEN(open, AT_FDCWD, (const char *path, int flags, ...))
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...))
OPEN(openat, dirfd, (int dirfd, const char *path, int flags, ...))
OPEN(openat64, dirfd, (int dirfd, const char *path, int flags, ...))

int close(int fd) {
    opened(fd, 0);
    return syscall(SYS_close, fd);
}

int fcntl64(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    REAL(fcntl64);
    int result = real(fd, command, argument);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) opened(result, fd_is_ours(fd));
    return result;
}
int fcntl(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    return fcntl64(fd, command, argument);
}

/* How many of n bytes are to be written; kills the process in their middle if its time has come. */
static ssize_t write_some(int fd, const void *from, size_t n, off_t at, int place) {
    if (fd_is_ours(fd) && !inside) {
        int fault = call("write");
        if (fault > 0) {
            errno = fault;
            return -1;
        }
        if (fault < 0 && n > 1) n /= 2;
        uint64_t after = __atomic_add_fetch(&bytes, n, __ATOMIC_SEQ_CST);
        if (kill_bytes && after >= kill_bytes) {
            size_t part = n - (size_t)(after - kill_bytes);
            if (part && part <= n) place ? syscall(SYS_pwrite64, fd, from, part, at) : syscall(SYS_write, fd, from, part);
            kill(getpid(), SIGKILL);
        }
    }
    return place ? syscall(SYS_pwrite64, fd, from, n, at) : syscall(SYS_write, fd, from, n);
}
ssize_t write(int fd, const void *from, size_t n) { return write_some(fd, from, n, 0, 0); }
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) { return write_some(fd, from, n, at, 1); }
ssize_t pwrite64(int fd, const void *from, size_t n, off_t at) { return write_some(fd, from, n, at, 1); }
ssize_t writev(int fd, const struct iovec *parts, int n) {
    if (fd_is_ours(fd) && n > 0) return write_some(fd, parts[0].iov_base, parts[0].iov_len, 0, 0);
    return syscall(SYS_writev, fd, parts, n);
}

static ssize_t read_some(int fd, void *to, size_t n, off_t at, int place) {
    if (fd_is_ours(fd) && !inside) {
        int fault = call("read");
        if (fault > 0) {
            errno = fault;
            return -1;
        }
        if (fault < 0 && n > 1) n /= 2;
    }
    return place ? syscall(SYS_pread64, fd, to, n, at) : syscall(SYS_read, fd, to, n);
}
ssize_t read(int fd, void *to, size_t n) { return read_some(fd, to, n, 0, 0); }
ssize_t pread(int fd, void *to, size_t n, off_t at) { return read_some(fd, to, n, at, 1); }
ssize_t pread64(int fd, void *to, size_t n, off_t at) { return read_some(fd, to, n, at, 1); }

int fsync(int fd) {
    if (!fd_is_ours(fd)) return syscall(SYS_fsync, fd);
    FAIL("fsync", -1);
    return 0;
}
int fdatasync(int fd) {
    if (!fd_is_ours(fd)) return syscall(SYS_fdatasync, fd);
    FAIL("fsync", -1);
    return 0;
}
int ftruncate64(int fd, off_t length) {
    if (fd_is_ours(fd)) FAIL("truncate", -1);
    return syscall(SYS_ftruncate, fd, length);
}
int rename(const char *from, const char *to) {
    if (is_ours(from)) FAIL("rename", -1);
    return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    if (is_ours(from)) FAIL("rename", -1);
    return syscall(SYS_renameat2, a, from, b, to, flags);
}
int link(const char *from, const char *to) {
    if (is_ours(from)) FAIL("link", -1);
    return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}
int linkat(int a, const char *from, int b, const char *to, int flags) {
    /* A file without a name comes from /proc. */
    if (is_ours(from) || is_ours(to)) FAIL("link", -1);
    return syscall(SYS_linkat, a, from, b, to, flags);
}
int mkdir(const char *path, mode_t mode) {
    if (is_ours(path)) FAIL("mkdir", -1);
    return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
int unlink(const char *path) {
    if (is_ours(path)) call("unlink");
    return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int unlinkat(int at, const char *path, int flags) {
    if (is_ours(path) || fd_is_ours(at)) call("unlink");
    return syscall(SYS_unlinkat, at, path, flags);
}
void *mmap64(void *address, size_t n, int protection, int flags, int fd, off_t at) {
    if (fd_is_ours(fd)) FAIL("mmap", MAP_FAILED);
    return (void *)syscall(SYS_mmap, address, n, protection, flags, fd, at);
}
void *mmap(void *address, size_t n, int protection, int flags, int fd, off_t at) {
    return mmap64(address, n, protection, flags, fd, at);
}

int clock_gettime(clockid_t which, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, which, now);
    static volatile long back;
    if (which == CLOCK_REALTIME && getenv("GAMUT_FAULT_CLOCK")) now->tv_sec -= __atomic_add_fetch(&back, 1, __ATOMIC_SEQ_CST);
    return result;
}
