/*
 * What the system tells about a machine, on machines that are folders of a few files.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine/machine.h"
#include "os/os.h"
#include "test.h"

static struct arena arena;
static struct machine machine;

static const char *fresh(void)
{
    char *path = arena_string(&arena, "/tmp/smelt-test-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
    return path;
}

static void put(const char *root, const char *path, const char *text)
{
    struct error error = {0};
    char *whole = arena_printf(&arena, "%s%s", root, path), *slash = strrchr(whole, '/');
    *slash = '\0';
    CHECK(directory_make(whole, &error));
    *slash = '/';
    CHECK(file_write(whole, text, strlen(text), 0600, &error));
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

static void tear_down(const char *root)
{
    CHECK(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void put_cache(const char *root, int index, const char *level, const char *type,
                      const char *size, const char *shared)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu2/cache/index%d/%s";
    put(root, arena_printf(&arena, folder, index, "level"), level);
    put(root, arena_printf(&arena, folder, index, "type"), type);
    put(root, arena_printf(&arena, folder, index, "size"), size);
    put(root, arena_printf(&arena, folder, index, "shared_cpu_list"), shared);
}

/* A server of eight processors, of which this process may use four. */
static const char *server(void)
{
    const char *root = fresh();
    put(root, "/proc/cpuinfo",
        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
        "model name\t: Example \033[31m Processor\nstepping\t: 8\nmicrocode\t: 0x2b\n"
        "flags\t\t: fpu sse sse2 fma avx2 avx512f avx512_bf16 amx_bf16 amx_tile\n\n"
        "processor\t: 1\nmodel name\t: Another\n");
    put(root, "/proc/sys/kernel/osrelease", "6.1.0-test\n");
    put(root, "/proc/self/status", "Name:\tx\nCpus_allowed:\tf\nCpus_allowed_list:\t2-4,7\n");
    put(root, "/proc/meminfo", "MemTotal:       65536 kB\nMemFree: 1 kB\n");
    put(root, "/sys/devices/system/cpu/online", "0-7\n");
    put(root, "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n");
    put(root, "/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,6\n");
    put_cache(root, 0, "1\n", "Data\n", "48K\n", "2,6\n");
    put_cache(root, 1, "1\n", "Instruction\n", "32K\n", "2,6\n");
    put_cache(root, 2, "2\n", "Unified\n", "2048K\n", "2,6\n");
    put_cache(root, 3, "3\n", "Unified\n", "60M\n", "0-7\n");
    return root;
}

TEST(machine_is_read_from_its_files)
{
    const char *root = server();
    machine_describe(&machine, root);
    CHECK_STR(machine.model, "Example ?[31m Processor");
    CHECK_STR(machine.stepping, "family 6 model 143 stepping 8");
    CHECK_STR(machine.microcode, "0x2b");
    CHECK_STR(machine.kernel, "6.1.0-test");
    CHECK_INT(machine.online, 8);
    CHECK_INT(machine.allowed, 4);
    CHECK_STR(machine.affinity, "2-4,7");
    CHECK_INT(machine.threads, 4);
    CHECK_DOUBLE(machine.quota, 0);
    CHECK(machine_has(&machine, MACHINE_AVX2) && machine_has(&machine, MACHINE_AVX512_BF16));
    CHECK(machine_has(&machine, MACHINE_AMX_BF16) && !machine_has(&machine, MACHINE_AMX_INT8));
    CHECK_INT(machine.caches[MACHINE_L1].bytes, 48 << 10);
    CHECK_INT(machine.caches[MACHINE_L2].bytes, 2 << 20);
    CHECK_INT(machine.caches[MACHINE_L3].bytes, 60 << 20);
    CHECK_INT(machine.caches[MACHINE_L3].shared_by, 8);
    CHECK_INT(machine.memory_bytes, 64 << 20);
    CHECK_STR(machine.governor, "powersave");
    CHECK_INT(machine.siblings, 2);
    CHECK_INT(strlen(machine.id), 16);
    tear_down(root);
}

TEST(machine_of_a_group_has_what_the_group_grants)
{
    const char *root = server();
    /* version 2: the narrowest limit of the group and those above it */
    put(root, "/proc/self/cgroup", "0::/a/b\n");
    put(root, "/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put(root, "/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    put(root, "/sys/fs/cgroup/a/memory.max", "1048576\n");
    machine_describe(&machine, root);
    CHECK_DOUBLE(machine.quota, 2.5);
    CHECK_INT(machine.threads, 2);
    CHECK_INT(machine.memory_bytes, 1 << 20);
    tear_down(root);

    /* version 1, in a container whose path is not what is mounted */
    root = server();
    put(root, "/proc/self/cgroup", "4:memory:/docker/0\n3:cpu,cpuacct:/docker/0\n0::/\n");
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    put(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    machine_describe(&machine, root);
    CHECK_DOUBLE(machine.quota, 0.5);
    CHECK_INT(machine.threads, 1);
    CHECK_INT(machine.memory_bytes, 64 << 20);
    tear_down(root);

    root = server();
    put(root, "/proc/self/cgroup", "3:cpu:/\n");
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    put(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    machine_describe(&machine, root);
    CHECK_DOUBLE(machine.quota, 0);
    tear_down(root);
}

/* Rates measured before a change hold no longer. */
TEST(machine_signature_tells_machines_apart)
{
    static const char *const changes[][2] = {
        {"/proc/sys/kernel/osrelease", "6.1.1-test\n"},
        {"/proc/self/status", "Cpus_allowed_list:\t2\n"},
        {"/sys/devices/system/cpu/online", "0-3\n"},
        {"/proc/self/cgroup", "0::/a\n"},
        {"/sys/devices/system/cpu/cpu2/cache/index3/size", "30M\n"},
    };
    const char *root = server();
    struct machine before;
    put(root, "/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    machine_describe(&before, root);
    machine_describe(&machine, root);
    CHECK_STR(machine.id, before.id);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        put(root, changes[i][0], changes[i][1]);
        machine_describe(&machine, root);
        CHECK(strcmp(machine.id, before.id) != 0);
        before = machine;
    }
    tear_down(root);
}

TEST(machine_without_files_is_described_all_the_same)
{
    const char *root = fresh();
    machine_describe(&machine, root);
    CHECK(machine.online >= 1 && machine.allowed >= 1 && machine.threads >= 1);
    CHECK_STR(machine.model, "");
    CHECK_INT(machine.caches[MACHINE_L1].bytes, 0);
    CHECK_INT(machine.caches[MACHINE_L1].shared_by, 1);
    put(root, "/proc/self/status", "Cpus_allowed_list:\t9-3,nonsense\n");
    put(root, "/sys/devices/system/cpu/online", "99999999999999999999\n");
    put(root, "/sys/devices/system/cpu/cpu0/cache/index0/level", "9\n");
    put(root, "/proc/self/cgroup", "\n::\n0:\n1:cpu\n2:cpu:\n");
    machine_describe(&machine, root);
    CHECK(machine.online >= 1 && machine.threads >= 1);
    tear_down(root);
}

/* A list of processors that is longer than its field is cut, and seen to be. */
TEST(machine_with_a_long_affinity)
{
    const char *root = fresh();
    struct text list = text_new(&arena);
    text_add(&list, "Cpus_allowed_list:\t0");
    for (int i = 2; i < 200; i += 2)
        text_printf(&list, ",%d", i);
    put(root, "/proc/self/status", list.at);
    put(root, "/sys/devices/system/cpu/online", "0-255");
    machine_describe(&machine, root);
    CHECK_INT(machine.allowed, 100);
    CHECK_INT(strlen(machine.affinity), sizeof machine.affinity - 1);
    CHECK_STR(machine.affinity + strlen(machine.affinity) - 4, ",...");
    tear_down(root);
}

TEST(machine_in_front_of_us)
{
    char signature[MACHINE_SIGNATURE];
    machine_describe(&machine, "");
    CHECK(machine.threads >= 1 && machine.threads <= machine.online);
    CHECK(machine.page_bytes >= 4096);
#if defined(__x86_64__)
    CHECK(machine_has(&machine, MACHINE_SSE2));
#endif
    machine_signature(signature, &machine);
    CHECK(strstr(signature, "\nkernel ") && strstr(signature, "\nsets "));
}
