/* Functions that LuaJIT has and some other Lua lacks, as weak symbols: so every Lua can open the
   library, which then says what it needs. */
#ifndef JF_OTHER_H
#define JF_OTHER_H

#include <lauxlib.h>
#include <lualib.h>
#include <luajit.h>

/* A DLL names what it needs of another one when it is linked; there is nothing weak. */
#ifndef JFL_BUILD_DLL
#pragma weak luaJIT_setmode
#pragma weak luaopen_ffi
#pragma weak luaL_loadbufferx
#pragma weak luaL_loadfilex
#pragma weak luaL_prepbuffer
#pragma weak luaL_setfuncs
#pragma weak luaL_setmetatable
#pragma weak luaL_testudata
#pragma weak luaL_traceback
#pragma weak lua_call
#pragma weak lua_copy
#pragma weak lua_cpcall
#pragma weak lua_equal
#pragma weak lua_getfenv
#pragma weak lua_insert
#pragma weak lua_lessthan
#pragma weak lua_loadx
#pragma weak lua_newuserdata
#pragma weak lua_objlen
#pragma weak lua_pcall
#pragma weak lua_remove
#pragma weak lua_replace
#pragma weak lua_setfenv
#pragma weak lua_tointeger
#pragma weak lua_tointegerx
#pragma weak lua_tonumber
#pragma weak lua_tonumberx
#pragma weak lua_upvalueid
#pragma weak lua_upvaluejoin
#endif

#endif
