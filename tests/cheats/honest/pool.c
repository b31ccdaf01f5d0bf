/* A pool of threads that stays between calls and sleeps there. */
#include <pthread.h>
#include <stdint.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void *const *job;
static const int64_t *job_sizes;
static void rows(void *const *tensors, const int64_t *sizes, int64_t first, int64_t last)
{
    const float *x = tensors[0], *w = tensors[1];
    float *y = tensors[2], *s = tensors[3];
    int64_t D = sizes[1];
    for (int64_t n = first; n < last; n++) {
        float sum = 0;
        for (int64_t d = 0; d < D; d++)
            sum += x[n * D + d] * w[d];
        s[n] = sum;
        for (int64_t d = 0; d < D; d++)
            y[n * D + d] = x[n * D + d] * w[d] + sum;
    }
}
static void *serve(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!job)
            pthread_cond_wait(&changed, &lock);
        rows(job, job_sizes, job_sizes[0] / 2, job_sizes[0]);
        job = 0;
        pthread_cond_broadcast(&changed);
    }
    return unused;
}
int kernel(void *const *tensors, const int64_t *sizes, const double *scalars, void *scratch)
{
    static pthread_t thread;
    if (!thread && pthread_create(&thread, 0, serve, 0) != 0)
        return 1;
    pthread_mutex_lock(&lock);
    job_sizes = sizes;
    job = tensors;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    rows(tensors, sizes, 0, sizes[0] / 2);
    pthread_mutex_lock(&lock);
    while (job)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}
