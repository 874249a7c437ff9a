-- The C modules that busted asks for, as far as it uses them, by what jfl has: for systems without
-- those. Loaded first by what runs busted there: jfl.exe -e 'dofile ...' script.
local core = require "jfl.core"

package.path = "./?.lua;/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua"

local windows = package.config:sub(1, 1) == "\\"

package.preload.lfs = function()
  local lfs = {}
  local function kind_of(path)
    return core.is_directory(path) and "directory" or core.is_file(path) and "file" or nil
  end
  function lfs.attributes(path, what)
    local kind = kind_of(path)
    if not kind then return nil, path .. ": no such file or directory" end
    local all = { mode = kind, modification = 0, size = 0 }
    if type(what) == "string" then return all[what] end
    return all
  end
  lfs.symlinkattributes = lfs.attributes
  function lfs.dir(path)
    local names, i = core.directory(path) or {}, 0
    return function()
      i = i + 1
      return names[i]
    end
  end
  function lfs.currentdir()
    return os.getenv("PWD") or (windows and "." or "/")
  end
  function lfs.mkdir(path) return core.make_directory(path) end
  lfs.rmdir = os.remove
  function lfs.chdir(path)
    if path == "." then return true end
    return nil, "cannot go to another folder"
  end
  return lfs
end

package.preload["term.core"] = function()
  return { isatty = function() return false end }
end

package.preload["system.core"] = function()
  return {
    gettime = os.time, monotime = core.now,
    sleep = function(seconds)
      local till = core.now() + seconds
      while core.now() < till do end
    end
  }
end
