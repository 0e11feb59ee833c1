/* check: the least that a C++ test program needs: CHECK(condition) reports a failure and goes on. */
#ifndef HAKMEM_TESTS_API_CHECK_HPP
#define HAKMEM_TESTS_API_CHECK_HPP

#include <cstdio>
#include <cstdlib>

inline int &check_failures() {
    static int failures;
    return failures;
}

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            std::fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
            ++check_failures();                                                          \
        }                                                                                \
    } while (0)

inline int check_result() {
    return check_failures() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
