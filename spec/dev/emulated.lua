--- Scripts in processes of their own, on the emulated GPU of spec/cuda.
local helper = require "spec.lua.helper"

local emulated = { folder = "build/emulated" }

--- Runs a script with these variables in its environment; `folder` is where the driver is, if it is
-- not the emulated one. Products read all bits, unless JFL_TF32 is 1. Gives what it printed and its
-- exit status.
function emulated.run(variables, text)
  local list = { ("LD_LIBRARY_PATH='%s' JFL_TF32=0 XDG_CACHE_HOME=\"$PWD/build/cache\"")
    :format(variables.folder or emulated.folder) }
  for name, value in pairs(variables) do
    if name ~= "folder" then list[#list + 1] = ("%s='%s'"):format(name, value) end
  end
  return helper.script(text, table.concat(list, " "))
end

return emulated
