-- Warnings: what a user should know though nothing has failed. They go to stderr, or to the
-- function that flow.config.on_warning was given, or to a host program that asked for them.
local core = require "jfl.core"

local warn = {
  --- Gets each warning in place of stderr; false: none does.
  handler = false,
}

--- Tells a warning, formatted as by string.format.
function warn.say(fmt, ...)
  local text = core.printable(fmt:format(...))
  if warn.handler then return warn.handler(text) end
  if not core.warn(text) then io.stderr:write("jfl: " .. text .. "\n") end
end

return warn
