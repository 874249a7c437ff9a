-- What the front end's specs share.
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"

local helper = {}

pcall(ffi.cdef, "int chdir(const char *path);")
pcall(ffi.cdef, "char *getcwd(char *buffer, size_t size);")

local tp = flow.typing

--- Runs fn, which must fail at a line of a spec with a message that holds `text`; gives it.
function helper.fails(fn, text)
  local ok, err = pcall(fn)
  assert(not ok, "expected an error with: " .. text)
  assert(type(err) == "string", "expected a message, got " .. type(err))
  assert(err:find(text, 1, true), ("expected an error with: %s\ngot: %s"):format(text, err))
  assert(err:match("^[^\n]*_spec%.lua:%d+: "), "expected the spec's own line first: " .. err)
  return err
end

--- A predict job that gives f of its one input.
function helper.predict(name, shape, f, fields)
  local t = { name = name, inputs = { { "x", tp.Numpy.Placeholder(shape) } }, returns = tp.Numpy,
    body = f }
  for key, value in pairs(fields or {}) do t[key] = value end
  return flow.global_function(t)
end

--- A predict job named slow that keeps the worker far longer than a call takes to be made: by
-- products that are smaller where plain kernels compute them.
function helper.slow()
  local size = core.device():find "^cpu" and core.get "kernels" ~= "reference" and 600 or 160
  return helper.predict("slow", { 1 }, function(v)
    local m = flow.ones({ size, size }) * v
    return flow.math.reduce_sum(flow.matmul(flow.matmul(m, m), m))
  end, { returns = tp.Callback(tp.Numpy) })
end

--- A train job of one variable w (2), starting at 1, whose loss is x * w.
function helper.train(name, fields)
  local t = {
    name = name, type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 2 }) } },
    body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      local loss = x * w
      flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(loss)
      return loss
    end,
  }
  for key, value in pairs(fields or {}) do t[key] = value end
  return flow.global_function(t)
end

--- The elements of an array as a flat list.
function helper.list(a)
  return a:reshape({ -1 }):totable()
end

--- Runs fn with io.stderr replaced; gives what was written there.
function helper.stderr_of(fn)
  local real, parts = io.stderr, {}
  rawset(io, "stderr", { write = function(self, ...)
    for i = 1, select("#", ...) do parts[#parts + 1] = tostring((select(i, ...))) end
    return self
  end })
  local ok, err = pcall(fn)
  rawset(io, "stderr", real)
  if not ok then error(err, 0) end
  return table.concat(parts)
end

--- The interpreter that runs the specs.
function helper.command()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  return arg[first]
end

--- Runs a script in a process of its own, by the interpreter that runs the specs; gives what it
-- wrote on both streams and its exit status. environment: variables for it, "A=1 B=2", or nil.
function helper.script(text, environment, options)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local pipe = assert(io.popen(("%s '%s' %s '%s' 2>&1; echo \"=$?\""):format(environment or "",
    helper.command(), options or "", path)))
  local all = pipe:read("*a")
  pipe:close()
  os.remove(path)
  local out, status = all:match("^(.*)=(%d+)\n$")
  return out, tonumber(status)
end

--- Whether the address sanitizer is there, which keeps what is freed for a while.
function helper.sanitized()
  for line in io.lines("/proc/self/maps") do
    if line:find("libasan", 1, true) then return true end
  end
  return false
end

--- A new directory; removed by helper.remove.
function helper.directory()
  local path = os.tmpname()
  os.remove(path)
  assert(os.execute("mkdir " .. path) == 0)
  return path
end

--- Goes into a directory; gives a function that goes back.
function helper.enter(directory)
  local here = ffi.string(ffi.C.getcwd(ffi.new("char[4096]"), 4096))
  assert(ffi.C.chdir(directory) == 0)
  return function() assert(ffi.C.chdir(here) == 0) end
end

function helper.remove(path)
  assert(path:match("^/tmp/"))
  os.execute("rm -rf " .. path)
end

--- A new directory and an empty session for each test; gives a function that gives the path of a
-- name in the directory, or without a name its own. before and after are those of the spec: hooks
-- around each test, or around all.
function helper.folder(before, after)
  local directory
  before(function()
    flow.clear_default_session()
    directory = helper.directory()
  end)
  after(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)
  return function(name) return name and directory .. "/" .. name or directory end
end

--- The whole of a file.
function helper.read(path)
  local file = assert(io.open(path, "rb"))
  local all = file:read("*a")
  file:close()
  return all
end

--- Makes a file of that text; gives its path.
function helper.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

--- What write(path) puts into a file.
function helper.written(write)
  local path = os.tmpname()
  write(path)
  local all = helper.read(path)
  os.remove(path)
  return all
end

--- The values of all variables as flat lists, by name.
function helper.variables()
  local all = {}
  for name, value in pairs(flow.get_all_variables()) do all[name] = helper.list(value) end
  return all
end

--- For scripts of their own: resident() gives the KiB that the process holds in memory.
helper.RESIDENT = [[
  local function resident()
    collectgarbage()
    collectgarbage()
    local file = io.open("/proc/self/statm")
    local pages = select(2, file:read("*n", "*n"))
    file:close()
    return pages * 4
  end
]]

return helper
