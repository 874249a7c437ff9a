/* Where the functions of Lua come from that the library's own states need. */
#ifndef JF_SCRIPT_LUA_H
#define JF_SCRIPT_LUA_H

/* NULL if they can be called, else why they cannot. Any thread may ask, before its first call. */
const char *jf_lua_lacks(void);

#endif
