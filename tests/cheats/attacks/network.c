/*
 * Speaks to others over the network or a socket of the host.
 * Stopped by: the filter of system calls, and a network namespace without anything in it.
 */
#include "rows.h"
#include <sys/socket.h>
#include <unistd.h>
KERNEL
{
#ifndef HONEST
    int pair[2], got = 0;
    got += socket(AF_INET, SOCK_STREAM, 0) >= 0;
    got += socket(AF_INET6, SOCK_DGRAM, 0) >= 0;
    got += socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
    got += socket(AF_NETLINK, SOCK_RAW, 0) >= 0;
    got += socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0;
    got += pipe(pair) == 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
