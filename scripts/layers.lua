-- Fails when a file includes something above its layer, or a header with code it should not see, or
-- a pass names an op.

-- The layers from the lowest; each may include itself and those before it.
local layers = { "system", "base", "file", "world", "dev", "data", "text", "ir", "op", "optim",
  "choose", "pass", "plan", "run", "checkpoint", "api" }
local rank = {}
for i, name in ipairs(layers) do rank[name] = i end

local bad = 0

local function files(where)
  return io.popen(("find %s -name '*.[ch]' | LC_ALL=C sort"):format(where)):lines()
end

--- Reports each #include "..." of path that allowed(folder, header) refuses.
local function check(path, allowed)
  for line in io.lines(path) do
    local header = line:match('^%s*#%s*include%s+"([^"]+)"')
    local folder = header and header:match("^([^/]+)/")
    if header and header ~= "jfl.h" and not allowed(folder, header) then
      io.stderr:write(("%s: may not include %s\n"):format(path, header))
      bad = bad + 1
    end
  end
end

for path in files("src/*/") do
  local layer = path:match("^src/+([^/]+)/")
  if layer == "bind" or layer == "cmd" then
    check(path, function(folder, header)
      return folder == layer or folder == "system" or folder == "gen"
        or layer == "cmd" and header == "world/launcher.h"
    end)
  elseif layer == "box" or layer == "script" then
    check(path, function(folder)     -- of the core they may know what public entries are made of
      return folder == layer or folder == "bind" or folder == "base" or folder == "system"
        or layer == "script" and (folder == "box" or folder == "gen")
    end)
  elseif rank[layer] then
    check(path, function(folder)
      return folder == "gen" or (rank[folder] and rank[folder] <= rank[layer])
    end)
  else
    io.stderr:write(("%s: src/%s is not a layer\n"):format(path, layer))
    bad = bad + 1
  end
end

-- Kernels may include tensors, numbers, attributes of ops and each other.
for path in files("kernels") do
  local own = path:match("^kernels/(.*)/")
  local kind = own:match("^[^/]+")
  check(path, function(folder, header)
    return header == "dev/kernel.h" or header == "dev/variants.h" or header == "dev/form.h"
      or header == "dev/number.h" or header == "base/base.h" or header == "base/walk.h"
      or header:find(("^dev/%s/"):format(kind))
      or folder == "op" or folder == "optim" or folder == "gen"
      or io.open(("kernels/%s/%s"):format(own, header)) ~= nil
      or folder == kind and io.open("kernels/" .. header) ~= nil
  end)
end

-- Passes and what comes after them name an op to create it and for nothing else: all that they want
-- to know of one is in its record.
for _, layer in ipairs { "choose", "pass", "plan", "run", "checkpoint" } do
  for path in files("src/" .. layer) do
    local number = 0
    for line in io.lines(path) do
      number = number + 1
      local named = line:find "&jf_op_[%w_]+" or line:find "jf_op_[%w_]+%."
      if named and not line:find "jf_emit%(" and not line:find "jf_graph_node%(" then
        io.stderr:write(("%s:%d: names an op that it does not create\n"):format(path, number))
        bad = bad + 1
      end
    end
  end
end

os.exit(bad == 0 and 0 or 1)
