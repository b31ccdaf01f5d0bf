/*
 * The unit tests' own small harness. A test is a function that registers itself:
 *
 *     TEST(map_keeps_order)
 *     {
 *         CHECK_INT(map.count, 2);
 *     }
 *
 * Each one runs in a child process of its own, so a crash or a hang fails that test only. The first
 * check that fails ends the test. A test should say in a comment what a user would notice.
 */
#ifndef SMELT_TESTS_UNIT_TEST_H
#define SMELT_TESTS_UNIT_TEST_H

#include <stdbool.h>

struct test {
    const char *name, *file;
    int line;
    void (*run)(void);
    struct test *next;
    const char *subject; /* what `run` is about, where one function serves many tests */
};

/* Called by TEST before main; the test stays the caller's. */
void test_register(struct test *test);
/* The test that runs in this process. */
extern const struct test *test_running;

/* End the test: with a complaint, or as one that cannot be run here. */
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));

void test_check(const char *file, int line, const char *condition, bool holds);
void test_check_int(const char *file, int line, const char *what, long long a, long long b);
void test_check_string(const char *file, int line, const char *what, const char *a, const char *b);
void test_check_double(const char *file, int line, const char *what, double a, double b);

#define TEST(title)                                                                 \
    static void test_##title(void);                                                 \
    __attribute__((constructor)) static void test_register_##title(void)            \
    {                                                                               \
        static struct test test = {#title, __FILE__, __LINE__, test_##title, 0, 0}; \
        test_register(&test);                                                       \
    }                                                                               \
    static void test_##title(void)

/* What was found comes first, what was expected second. */
#define CHECK(condition) test_check(__FILE__, __LINE__, #condition, (condition))
#define CHECK_INT(a, b) \
    test_check_int(__FILE__, __LINE__, #a " == " #b, (long long)(a), (long long)(b))
#define CHECK_STR(a, b) test_check_string(__FILE__, __LINE__, #a " == " #b, (a), (b))
/* Equal to about twelve digits; nan equals nan. */
#define CHECK_DOUBLE(a, b) test_check_double(__FILE__, __LINE__, #a " == " #b, (a), (b))
#define SKIP(...) test_skip(__VA_ARGS__)

#endif
