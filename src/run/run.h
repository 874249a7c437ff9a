/* Run time: all headers of this room. */
#ifndef JF_RUN_H
#define JF_RUN_H

#include "run/call.h"
#include "run/execution.h"
#include "run/job.h"
#include "run/profile.h"
#include "run/request.h"
#include "run/session.h"
#include "run/site.h"
#include "run/variable.h"

#endif
