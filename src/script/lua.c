/* Lua's functions are those that the linker found, in the command, the module and the archive. In
   libjfl.so, for which this file is compiled once more, they are those of the system's LuaJIT,
   which is opened when the first state is made: the library defines each function of Lua that it
   calls as a jump to LuaJIT's. No other part of the process sees either, so that a host may have
   another Lua, of whatever version. LuaJIT's archive would not do, as systems compile it for
   programs only. */
#include "script/lua.h"

#include <stddef.h>

#ifndef JF_OPENS_LUA

const char *jf_lua_lacks(void)
{
  return NULL;
}

#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#define LUAJIT "libluajit-5.1.so.2"

/* DEEPBIND: LuaJIT's calls of itself must not reach the Lua of a host that exports its own. The
   sanitizers refuse it. */
#ifdef __SANITIZE_ADDRESS__
#define FLAGS (RTLD_NOW | RTLD_LOCAL)
#else
#define FLAGS (RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)
#endif

#if defined __x86_64__
#define JUMP(to) "  endbr64\n  jmp *" to "(%rip)\n"
#elif defined __aarch64__
#define JUMP(to) "  bti c\n  adrp x16, " to "\n  ldr x16, [x16, :lo12:" to "]\n  br x16\n"
#else
#error "write the jump of this processor, or give LuaJIT's archive as LUAJIT_PIC to make"
#endif

/* One line per function: what it jumps to, and the jump. */
#define ENTRY(name)                                               \
  void *jf_to_##name;                                             \
  __asm__(".text\n.globl " #name "\n.hidden " #name "\n"          \
          ".type " #name ", %function\n.p2align 4\n" #name ":\n"  \
          JUMP("jf_to_" #name) ".size " #name ", .-" #name "\n");
#include "gen/luaentries.h"
#undef ENTRY

static const struct { const char *name; void **to; } entries[] = {
#define ENTRY(name) { #name, &jf_to_##name },
#include "gen/luaentries.h"
#undef ENTRY
};

static char lacks[200];            /* written once, by lua_open_all */

static void lua_open_all(void)
{
  void *so = dlopen(LUAJIT, FLAGS);
  const char *why = so ? NULL : dlerror();
  for (size_t i = 0; so && i < sizeof entries / sizeof *entries; i++) {
    *entries[i].to = dlsym(so, entries[i].name);
    if (!*entries[i].to) why = dlerror();
  }
  if (why) snprintf(lacks, sizeof lacks, "%s", why);
}

const char *jf_lua_lacks(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, lua_open_all);
  return *lacks ? lacks : NULL;
}

#endif
