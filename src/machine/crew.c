/*
 * Threads that start together, so that what they do at once can be timed.
 *
 * Members sleep until there is a task, wait for each other, run it and report. Each stamps its own
 * start and end: the time it takes to wake everybody is not counted.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "machine/private.h"
#include "os/clock.h"

struct member {
    struct crew *crew;
    pthread_t thread;
    int number;
    int64_t start, end; /* nanoseconds */
    char pad[64];       /* no two members write to one cache line */
};

struct crew {
    int count, started; /* count 1: the caller works, and there are no threads */
    crew_task *task;    /* NULL: go home */
    void *context;
    pthread_mutex_t mutex; /* guards turn and done */
    pthread_cond_t called, finished;
    int turn, done;
    atomic_int awake;
    struct member members[];
};

/* The number-th processor this process may use, if there are that many. */
static void settle(int number)
{
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return;
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (!CPU_ISSET(processor, &allowed) || number-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        return;
    }
}

static void work(struct member *member)
{
    member->start = clock_nanoseconds();
    member->crew->task(member->crew->context, member->number);
    member->end = clock_nanoseconds();
}

static void *member_main(void *pointer)
{
    struct member *member = pointer;
    struct crew *crew = member->crew;
    settle(member->number);
    for (int turn = 1;; turn++) {
        pthread_mutex_lock(&crew->mutex);
        while (crew->turn < turn)
            pthread_cond_wait(&crew->called, &crew->mutex);
        pthread_mutex_unlock(&crew->mutex);
        if (!crew->task)
            return NULL;
        atomic_fetch_add(&crew->awake, 1);
        while (atomic_load(&crew->awake) < crew->count)
            sched_yield();
        work(member);
        pthread_mutex_lock(&crew->mutex);
        if (++crew->done == crew->count)
            pthread_cond_signal(&crew->finished);
        pthread_mutex_unlock(&crew->mutex);
    }
}

static void call_members(struct crew *crew, crew_task *task, void *context)
{
    pthread_mutex_lock(&crew->mutex);
    crew->task = task;
    crew->context = context;
    crew->done = 0;
    atomic_store(&crew->awake, 0);
    crew->turn++;
    pthread_cond_broadcast(&crew->called);
    pthread_mutex_unlock(&crew->mutex);
}

struct crew *crew_begin(int count)
{
    struct crew *crew = memory_alloc(sizeof *crew + (size_t)count * sizeof *crew->members);
    crew->count = count;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->called, NULL);
    pthread_cond_init(&crew->finished, NULL);
    for (int i = 0; i < count; i++) {
        struct member *member = &crew->members[i];
        member->crew = crew;
        member->number = i;
        if (count == 1)
            break;
        if (pthread_create(&member->thread, NULL, member_main, member) != 0) {
            crew_end(crew);
            return NULL;
        }
        crew->started++;
    }
    return crew;
}

void crew_end(struct crew *crew)
{
    if (!crew)
        return;
    call_members(crew, NULL, NULL);
    for (int i = 0; i < crew->started; i++)
        pthread_join(crew->members[i].thread, NULL);
    pthread_cond_destroy(&crew->called);
    pthread_cond_destroy(&crew->finished);
    pthread_mutex_destroy(&crew->mutex);
    memory_free(crew);
}

int crew_count(const struct crew *crew)
{
    return crew->count;
}

double crew_run(struct crew *crew, crew_task *task, void *context)
{
    if (crew->count == 1) {
        crew->task = task;
        crew->context = context;
        work(&crew->members[0]);
    } else {
        call_members(crew, task, context);
        pthread_mutex_lock(&crew->mutex);
        while (crew->done < crew->count)
            pthread_cond_wait(&crew->finished, &crew->mutex);
        pthread_mutex_unlock(&crew->mutex);
    }
    int64_t start = crew->members[0].start, end = crew->members[0].end;
    for (int i = 1; i < crew->count; i++) {
        const struct member *member = &crew->members[i];
        start = member->start < start ? member->start : start;
        end = member->end > end ? member->end : end;
    }
    return 1e-9 * (double)(end - start);
}
