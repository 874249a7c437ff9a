-- metatable(value): the metatable of a table or a userdata; nil of any other value. It stands in
-- for getmetatable where a script gives the value: LuaJIT's compiler reads memory that nobody
-- wrote, and may crash, where it compiles getmetatable(io.stdout). It does not compile
-- debug.getmetatable.
local any = debug and debug.getmetatable

return function(value)
  local kind = type(value)
  if kind == "table" then return getmetatable(value) end
  return kind == "userdata" and any and any(value) or nil
end
