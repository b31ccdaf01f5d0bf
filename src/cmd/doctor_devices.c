/*
 * smelt doctor: devices, and what it takes to run kernels on them. Drivers are asked in a process
 * of their own: one that breaks does not break smelt.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "judge/device.h"

enum { DRIVER_SECONDS = 30 };

/* A card of NVIDIA's on the bus, or its driver at work. */
static bool has_nvidia(void)
{
    static const char pattern[] = "/sys/bus/pci/devices/*/vendor";
    bool found = access("/dev/nvidiactl", F_OK) == 0;
    glob_t cards;
    if (glob(pattern, 0, NULL, &cards) != 0)
        return found;
    for (size_t i = 0; !found && i < cards.gl_pathc; i++) {
        char vendor[16] = "";
        int file = open(cards.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            found = read(file, vendor, sizeof vendor - 1) > 0 && strncmp(vendor, "0x10de", 6) == 0;
            close(file);
        }
    }
    globfree(&cards);
    return found;
}

/* What the driver says of its first device; or what is missing. */
static void check_target(struct doctor *doctor, const struct target *target, const char *fix)
{
    struct arena *arena = doctor->arena;
    struct error error = {0};
    const char *runner = device_find_runner(arena, &error);
    if (!runner) {
        doctor_add(doctor, "devices", target->name, FINDING_GAP, "%s", error.message)->fix =
            "make install";
        return;
    }
    const char *const arguments[] = {runner, "describe", target->name, NULL};
    struct process_request request = {
        .arguments = arguments, .timeout = DRIVER_SECONDS, .output_maximum = 4096};
    struct process_result result;
    if (!process_run(arena, &request, &result, &error)) {
        doctor_add(doctor, "devices", target->name, FINDING_GAP, "%s", error.message)->fix = fix;
    } else if (process_succeeded(&result)) {
        const char *architecture = device_fact(arena, result.output, "architecture");
        doctor_add(doctor, "devices", target->name, FINDING_OK, "%s, %s%s%s, %s units, %.1f GiB%s",
                   device_fact(arena, result.output, "device"),
                   device_fact(arena, result.output, "version"), *architecture ? ", " : "",
                   architecture, device_fact(arena, result.output, "units"),
                   strtod(device_fact(arena, result.output, "memory"), NULL) / 0x1p30,
                   strcmp(device_fact(arena, result.output, "doubles"), "1") == 0
                       ? ""
                       : ", no double precision");
    } else {
        bool told = result.end == PROCESS_EXITED && result.output[0];
        result.output[strcspn(result.output, "\n")] = '\0';
        doctor_add(doctor, "devices", target->name, FINDING_GAP, "%s: no kernels on %s devices",
                   told ? result.output : "the driver breaks", target->title)
            ->fix = fix;
    }
}

/* A part of NVIDIA's toolkit: what it is for is missed only where there is a device of theirs. */
static void check_part(struct doctor *doctor, const char *name, const char *path, bool needed,
                       const char *use, const char *fix)
{
    if (path)
        doctor_add(doctor, "devices", name, FINDING_OK, "%s", path);
    else if (needed)
        doctor_add(doctor, "devices", name, FINDING_GAP, "not found: %s", use)->fix = fix;
    else
        doctor_add(doctor, "devices", name, FINDING_NONE, "no NVIDIA device");
}

static const char *find_library(struct doctor *doctor, const char *variable,
                                const char *const *names)
{
    const char *chosen = getenv(variable);
    const char *const own[] = {chosen, NULL};
    return doctor_find_library(doctor, chosen && *chosen ? own : names);
}

static void check_toolkit(struct doctor *doctor, bool needed)
{
    static const char *const nvrtc[] = {"libnvrtc.so.13",   "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so.11.1", "libnvrtc.so",    NULL};
    static const char *const cublas[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                         "libcublas.so", NULL};
    const char *chosen = getenv("SMELT_SANITIZER");
    const char *sanitizer =
        process_find(doctor->arena, chosen && *chosen ? chosen : target_cuda.sanitizer);
    if (!sanitizer && !(chosen && *chosen))
        sanitizer =
            process_find(doctor->arena, arena_printf(doctor->arena, "/usr/local/cuda/bin/%s",
                                                     target_cuda.sanitizer));
    check_part(doctor, "nvrtc", find_library(doctor, "SMELT_NVRTC", nvrtc), needed,
               "no compiling for NVIDIA devices",
               doctor_install(doctor, "nvidia-cuda-toolkit", "cuda-nvrtc"));
    check_part(doctor, "cublas", find_library(doctor, "SMELT_CUBLAS", cublas), needed,
               "no comparison with cuBLAS", doctor_install(doctor, "libcublas12", "libcublas"));
    check_part(doctor, "sanitizer", sanitizer, needed,
               "verdicts do not name thread and line of a fault",
               doctor_install(doctor, "nvidia-cuda-toolkit", "cuda-sanitizer"));
}

void doctor_devices(struct doctor *doctor)
{
    bool nvidia = has_nvidia();
    if (nvidia)
        check_target(doctor, &target_cuda,
                     access("/proc/driver/nvidia", F_OK) == 0
                         ? "docker run --gpus all ...   gives a container the driver's libraries"
                         : doctor_install(doctor, "nvidia-driver", "akmod-nvidia-cuda"));
    else
        doctor_add(doctor, "devices", "cuda", FINDING_NONE, "no NVIDIA device");
    check_toolkit(doctor, nvidia);
    check_target(doctor, &target_opencl,
                 doctor_install(doctor, "ocl-icd-libopencl1 pocl-opencl-icd", "ocl-icd pocl"));
}
