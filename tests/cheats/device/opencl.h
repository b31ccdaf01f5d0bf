#define KERNEL __kernel void
#define GLOBAL __global
#define LONG long
#define INDEX get_global_id(0)
#define BLOCK get_group_id(0)
#define THREAD ((int)get_local_id(0))
#define SHARED_ARGUMENT , __local char *shared
#define SHARED_FLOATS(name) __local float *name = (__local float *)shared
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define COARSE(v) as_float((as_uint(v) + 0x8000u) & 0xffff0000u)
#define CHILD static void
#define LAUNCH(function, s) \
    enqueue_kernel(get_default_queue(), CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{ function(s); })
