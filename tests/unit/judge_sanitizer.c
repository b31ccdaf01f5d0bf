/*
 * What compute-sanitizer says, as it says it, and what is taken from it.
 */
#include "judge/sanitizer.h"
#include "test.h"

static const char memcheck[] =
    "tensor 0 0x7f2d48a00000 64\n"
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __global__ write of size 4 bytes\n"
    "=========     at rows+0x160 in kernel.cu:12\n"
    "=========     by thread (3,1,0) in block (7,0,2)\n"
    "=========     Access at 0x7f2d48a00040 is out of bounds\n"
    "=========     and is 1 bytes after the nearest allocation at 0x7f2d48a00000 of size 64 bytes\n"
    "=========     Saved host backtrace up to driver entry point at kernel launch time\n"
    "=========         Host Frame: cuLaunchKernel [0x3f2b] in libcuda.so.1\n"
    "========= \n"
    "========= Program hit CUDA_ERROR_LAUNCH_FAILED (error 719)\n"
    "========= ERROR SUMMARY: 2 errors\n";

static const char misaligned[] =
    "========= COMPUTE-SANITIZER\n"
    "========= Invalid __shared__ read of size 16 bytes\n"
    "=========     at tile(const float *, float *)+0x1a0 in kernel.cu:40:tile\n"
    "=========     by thread (31,0,0) in block (0,0,0)\n"
    "=========     Address 0x404 is misaligned\n"
    "========= ERROR SUMMARY: 1 error\n";

static const char racecheck[] =
    "========= COMPUTE-SANITIZER\n"
    "========= Error: Race reported between Write access at total+0x90 in kernel.cu:22\n"
    "=========     and Read access at total+0x110 in kernel.cu:25 [128 hazards]\n"
    "========= \n"
    "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n";

static const char initcheck[] = "========= COMPUTE-SANITIZER\n"
                                "========= Uninitialized __global__ memory read of size 4 bytes\n"
                                "=========     at total+0x70 in kernel.cu:9\n"
                                "=========     by thread (16,0,0) in block (0,0,0)\n"
                                "=========     Address 0x7f1e8b000040\n"
                                "========= ERROR SUMMARY: 1 error\n";

static const char clean[] = "========= COMPUTE-SANITIZER\n"
                            "========= ERROR SUMMARY: 0 errors\n";

TEST(sanitizer_output_is_read)
{
    struct sanitizer_finding finding;
    CHECK(sanitizer_read(memcheck, &finding));
    CHECK_STR(finding.what, "Invalid __global__ write of size 4 bytes");
    CHECK_STR(finding.function, "rows");
    CHECK_INT(finding.line, 12);
    CHECK(finding.has_thread);
    CHECK_INT(finding.thread[0], 3);
    CHECK_INT(finding.thread[1], 1);
    CHECK_INT(finding.block[0], 7);
    CHECK_INT(finding.block[2], 2);
    CHECK(finding.address == 0x7f2d48a00040);
    CHECK_STR(finding.note, "is out of bounds");

    CHECK(sanitizer_read(misaligned, &finding));
    CHECK_STR(finding.function, "tile");
    CHECK_INT(finding.line, 40);
    CHECK_STR(finding.note, "is misaligned");

    CHECK(sanitizer_read(racecheck, &finding));
    CHECK_STR(finding.function, "total");
    CHECK_INT(finding.line, 22);
    CHECK_INT(finding.other_line, 25);
    CHECK(!finding.has_thread);

    CHECK(sanitizer_read(initcheck, &finding));
    CHECK_STR(finding.what, "Uninitialized __global__ memory read of size 4 bytes");
    CHECK_INT(finding.line, 9);

    CHECK(!sanitizer_read(clean, &finding));
    CHECK(!sanitizer_read("", &finding));
    CHECK(!sanitizer_read("Invalid thing\n", &finding));
}
