/*
 * os: what smelt asks of the operating system. Programs, files, directories, loaded libraries and
 * the clock; nothing here knows of kernels.
 */
#ifndef SMELT_OS_OS_H
#define SMELT_OS_OS_H

#include "os/clock.h"
#include "os/file.h"
#include "os/library.h"
#include "os/process.h"

#endif
