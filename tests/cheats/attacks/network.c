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
    static const int sockets[][2] = {{AF_INET, SOCK_STREAM},
                                     {AF_INET6, SOCK_DGRAM},
                                     {AF_UNIX, SOCK_STREAM},
                                     {AF_NETLINK, SOCK_RAW}};
    int pair[2], got = 0;
    for (int i = 0; i < 4; i++) { /* closed again: so many may be open at a time */
        int one = socket(sockets[i][0], sockets[i][1], 0);
        got += one >= 0 && close(one) == 0;
    }
    got += socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && close(pair[0]) + close(pair[1]) == 0;
    got += pipe(pair) == 0 && close(pair[0]) + close(pair[1]) == 0;
    if (!got)
        return STOPPED;
#endif
    return ALL;
}
