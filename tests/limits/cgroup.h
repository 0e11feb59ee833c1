/*
 * cgroup.h: a cgroup of the test's own, for the programs of tests/limits that ask what the library does in one.
 *
 *   make_group(controller)   makes one of version 2 in which the controller works: beside the process's own cgroup or
 *                            beside one above it, because a cgroup that has processes hands no controller down. False
 *                            where there is none, or a process may not be moved into it
 *   make_below(name)         makes one below it
 *   put(file, text)          writes into a file of it; false when refused
 *   enter, enter_below       move the calling process
 *   with_group(test)         runs the test in a process of its own, then ends what is left in the groups, and removes
 *                            them. The status that main returns
 */
#ifndef HAKMEM_TESTS_CGROUP_H
#define HAKMEM_TESTS_CGROUP_H

#include "limits.h"

static char group[3000];

static inline bool put(const char *file, const char *text) {
    char path[3100];
    snprintf(path, sizeof path, "%s/%s", group, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return done;
}

static inline void enter_below(const char *name) {
    char file[100];
    snprintf(file, sizeof file, "%s/cgroup.procs", name);
    CHECK(put(file, "0"));
}

static inline void enter(void) {
    enter_below(".");
}

static const char *below[4];

static inline void make_below(const char *name) {
    char path[3100];
    int i = 0;
    while (below[i] != NULL)
        i++;
    snprintf(path, sizeof path, "%s/%s", group, name);
    CHECK(mkdir(path, 0755) == 0);
    below[i] = name;
}

static inline void remove_one(const char *path) {
    for (int i = 0; i < 100 && rmdir(path) != 0 && errno == EBUSY; i++)
        usleep(20000);
}

static inline void remove_group(void) {
    char path[3100];
    put("cgroup.kill", "1");
    for (int i = sizeof below / sizeof *below; i-- > 0;) {
        if (below[i] == NULL)
            continue;
        snprintf(path, sizeof path, "%s/%s", group, below[i]);
        remove_one(path);
    }
    remove_one(group);
}

static inline int with_group(void (*test)(void)) {
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        test();
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    remove_group();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The path of the process's own cgroup in /proc/self/cgroup, after `mark` at the beginning of a line; NULL: none. */
static inline const char *own_path(const char *mark) {
    static char path[2048];
    for (const char *line = text_of("/proc/self/cgroup"); *line != '\0';) {
        const char *end = strchrnul(line, '\n'), *at = strstr(line, mark);
        if (at != NULL && at < end) {
            at += strlen(mark);
            snprintf(path, sizeof path, "%.*s", (int)(end - at), at);
            return strcmp(path, "/") == 0 ? "" : path;
        }
        line = end + (*end == '\n');
    }
    return NULL;
}

static inline bool make_group_in(const char *parent) {
    snprintf(group, sizeof group, "%s/hakmem-test-%d", parent, (int)getpid());
    return mkdir(group, 0755) == 0;
}

static inline bool may_enter(void) {
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0)
        _exit(put("cgroup.procs", "0") ? 0 : 1);
    CHECK(waitpid(pid, &status, 0) == pid);
    return status == 0;
}

static inline bool make_group(const char *controller) {
    static const char root[] = "/sys/fs/cgroup";
    const char *own = own_path("0::");
    char parent[2100], file[2200];
    if (own == NULL)
        return false;
    snprintf(parent, sizeof parent, "%s%s", root, own);
    for (;; *strrchr(parent, '/') = '\0') {
        snprintf(file, sizeof file, "%s/cgroup.subtree_control", parent);
        if (strstr(text_of(file), controller) != NULL && make_group_in(parent)) {
            if (may_enter())
                return true;
            remove_group();
        }
        if (strlen(parent) < sizeof root)
            return false;
    }
}

#endif
