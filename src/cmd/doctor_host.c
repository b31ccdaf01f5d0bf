/*
 * smelt doctor: how kernels can be confined here, and what the processors are like.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "machine/machine.h"
#include "os/lock.h"
#include "os/sandbox.h"

/* ---- isolation ---- */

/* The number in a file, or -1. */
static int file_number(const char *path)
{
    int value = -1;
    FILE *file = fopen(path, "re");
    if (file) {
        if (fscanf(file, "%d", &value) != 1)
            value = -1;
        fclose(file);
    }
    return value;
}

/* Which of the switches that forbid user namespaces is set here. */
static const char *namespaces_fix(void)
{
    if (file_number("/proc/sys/user/max_user_namespaces") == 0)
        return "sudo sysctl -w user.max_user_namespaces=10000";
    if (file_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1";
    if (file_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
        return "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
    return "in a container: docker run --security-opt seccomp=unconfined ...";
}

static const char *landlock_fix(void)
{
    if (access("/sys/kernel/security/lsm", R_OK) == 0)
        return "boot with lsm=landlock,$(cat /sys/kernel/security/lsm), on Linux 5.13 or later";
    return "boot Linux 5.13 or later with landlock in its lsm= parameter; in a container: docker "
           "run "
           "--security-opt seccomp=unconfined ...";
}

static const char *layer_fix(unsigned layer)
{
    switch (layer) {
    case SANDBOX_USER:
    case SANDBOX_PID:
    case SANDBOX_NET:
    case SANDBOX_IPC: return namespaces_fix();
    case SANDBOX_LANDLOCK: return landlock_fix();
    case SANDBOX_SECCOMP: return "boot a kernel built with CONFIG_SECCOMP_FILTER=y";
    default: return "run outside of whatever forbids setrlimit and prctl here";
    }
}

static const struct {
    unsigned layer;
    const char *name, *with, *without;
} layers[] = {
    {SANDBOX_LIMITS, "limits", "memory, time, processes and files are limited",
     "a kernel may use up the machine"},
    {SANDBOX_PRIVILEGES, "privileges", "all are given up, and none can be got",
     "a kernel keeps the privileges of this user"},
    {SANDBOX_SECCOMP, "seccomp", "system calls are filtered", "a kernel may make any system call"},
    {SANDBOX_LANDLOCK, "landlock", "files cannot be reached", "a kernel may read your files"},
    {SANDBOX_USER, "user", "user namespace", "no user namespace"},
    {SANDBOX_PID, "pid", "sees no other process", "a kernel can see other processes"},
    {SANDBOX_NET, "net", "no network", "a kernel may reach the network, unless seccomp denies it"},
    {SANDBOX_IPC, "ipc", "no shared memory of others", "shared memory of others is in reach"},
};

void doctor_isolation(struct doctor *doctor)
{
    static const char *const level_names[] = {"none", "basic", "strong", "full"};
    unsigned available = sandbox_available();
    int level = SANDBOX_FULL;
    while (level > SANDBOX_NONE &&
           (sandbox_level_layers((enum sandbox_level)level) & ~available) != 0)
        level--;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        bool there = available & layers[i].layer;
        struct finding *finding =
            doctor_add(doctor, "isolation", layers[i].name, there ? FINDING_OK : FINDING_GAP, "%s",
                       there ? layers[i].with : layers[i].without);
        if (!there)
            finding->fix = layer_fix(layers[i].layer);
    }
    doctor_add(doctor, "isolation", "level", level >= SANDBOX_BASIC ? FINDING_OK : FINDING_GAP,
               "up to --isolation=%s", level_names[level]);
}

/* ---- processors ---- */

static void check_processors(struct doctor *doctor, const struct machine *machine)
{
    static const char group[] = "processors";
    doctor_add(doctor, group, "model", FINDING_OK, "%s",
               *machine->model ? machine->model : "not told");
    struct text sets = text_new(doctor->arena);
    for (int set = 0; set < MACHINE_SET_COUNT; set++)
        if (machine_has(machine, (enum machine_set)set))
            text_printf(&sets, "%s%s", sets.length ? " " : "",
                        machine_set_name((enum machine_set)set));
    doctor_add(doctor, group, "vectors", FINDING_OK, "%s", sets.length ? sets.at : "none known");
    bool all = machine->allowed >= machine->online;
    struct finding *finding =
        doctor_add(doctor, group, "affinity", all ? FINDING_OK : FINDING_GAP,
                   "%d of %d processors may be used%s%s", machine->allowed, machine->online,
                   *machine->affinity ? ": " : "", machine->affinity);
    if (!all)
        finding->fix = arena_printf(doctor->arena, "taskset -p -c 0-%d $$", machine->online - 1);
    bool limited = machine->quota > 0 && machine->quota < machine->allowed;
    if (machine->quota > 0)
        finding = doctor_add(doctor, group, "quota", limited ? FINDING_GAP : FINDING_OK,
                             "%.2f processors' worth of time: whoever exceeds it is stopped",
                             machine->quota);
    else
        doctor_add(doctor, group, "quota", FINDING_OK, "none");
    if (limited)
        finding->fix =
            arena_printf(doctor->arena, "docker update --cpus=%d CONTAINER", machine->allowed);
}

static void check_clocks(struct doctor *doctor, const struct machine *machine)
{
    static const char group[] = "processors";
    struct finding *finding = NULL;
    if (machine->siblings > 1) {
        finding = doctor_add(doctor, group, "smt", FINDING_GAP,
                             "%d threads share a core, and disturb each other's times",
                             machine->siblings);
        finding->fix = "echo off | sudo tee /sys/devices/system/cpu/smt/control";
    } else {
        doctor_add(doctor, group, "smt", FINDING_OK, "%s",
                   machine->siblings ? "one thread per core" : "not told");
    }
    bool good = !*machine->governor || strcmp(machine->governor, "performance") == 0;
    finding = doctor_add(doctor, group, "governor", good ? FINDING_OK : FINDING_GAP, "%s",
                         *machine->governor ? machine->governor
                                            : "not told (a virtual machine, as a rule)");
    if (!good)
        finding->fix = "sudo cpupower frequency-set -g performance";
}

static void check_noise(struct doctor *doctor)
{
    struct machine_noise noise;
    int lock = lock_timing_begin(NULL, NULL);
    machine_noise(&noise);
    lock_timing_end(lock);
    bool quiet = noise.spread < 0.05 && noise.slowdown < 0.05;
    struct finding *finding = doctor_add(
        doctor, "processors", "noise", quiet ? FINDING_OK : FINDING_GAP,
        "%d runs of the same work: median %.3f ms, p95 %.3f ms (+%.1f %%), fastest %.3f ms",
        MACHINE_NOISE_RUNS, noise.median * 1e3, noise.p95 * 1e3, noise.spread * 100,
        noise.fastest * 1e3);
    if (!quiet)
        finding->fix = "ps -eo pcpu,pid,args --sort=-pcpu | head   shows what else is running";
}

void doctor_machine(struct doctor *doctor)
{
    struct machine machine;
    machine_describe(&machine, "");
    check_processors(doctor, &machine);
    check_clocks(doctor, &machine);
    check_noise(doctor);
}
