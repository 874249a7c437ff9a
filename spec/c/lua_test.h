/* test.h for tests that have a Lua state, their own or the library's: what includes it is linked
   with LuaJIT. */
#ifndef LUA_TEST_H
#define LUA_TEST_H

#ifdef TEST_H
#error "lua_test.h must come before test.h, which it includes"
#endif

/* Where Lua's errors unwind the stack only the sanitizer's fast unwinder is safe. */
#define TEST_UNWINDER "1"

#include "test.h"

#endif
