#define KERNEL extern "C" __global__ void
#define GLOBAL
#define LONG long long
#define INDEX ((long long)blockIdx.x * blockDim.x + threadIdx.x)
#define BLOCK ((long long)blockIdx.x)
#define THREAD ((int)threadIdx.x)
#define SHARED_ARGUMENT
#define SHARED_FLOATS(name) extern __shared__ float name[]
#define BARRIER __syncthreads()
#define COARSE(v) __uint_as_float((__float_as_uint(v) + 0x8000u) & 0xffff0000u)
#define CHILD __global__ void
#define LAUNCH(function, s) function<<<1, 1>>>(s)
