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

--- A folder with the emulated driver and compiler, and without cuBLASLt: what is no library hides
-- one that is installed.
function emulated.without_blas()
  local folder = helper.directory()
  for _, name in ipairs { "libcuda.so.1", "libnvrtc.so.13", "runtime.h" } do
    assert(os.execute(("ln -s \"$PWD/%s/%s\" '%s'"):format(emulated.folder, name, folder)) == 0)
  end
  for version = 12, 13 do
    helper.write(("%s/libcublasLt.so.%d"):format(folder, version), "")
  end
  return folder
end

return emulated
