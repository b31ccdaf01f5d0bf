/*
 * Private to src/judge: an external program that stays between questions, one line each way. It is
 * started by the first question, and ends with smelt.
 */
#ifndef SMELT_JUDGE_SERVER_H
#define SMELT_JUDGE_SERVER_H

#include "base/base.h"

enum { SERVER_LINE = 1024 };

/*
 * Asks the program with these arguments, and puts its answer, a line of its own that begins with
 * "smelt: ", without that, into `answer`. Other lines are its chatter. False: it could not be
 * started, ended, or did not answer in time; then the next question starts another.
 */
bool server_ask(const char *const *arguments, const char *const *environment, const char *question,
                double seconds, char answer[SERVER_LINE], struct error *error);
/* Says something that is not answered. What comes of it does not matter. */
void server_tell(const char *const *arguments, const char *const *environment, const char *words);

#endif
