/*
 * base: everything that has no opinion about kernels. Each header is usable alone.
 */
#ifndef SMELT_BASE_BASE_H
#define SMELT_BASE_BASE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/fingerprint.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/source.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/vector.h"

#endif
