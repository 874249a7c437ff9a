-- Run with build/faults.so: does something for the first time in a process, over and over, with
-- each allocation failing in turn, once or from there on, those of libraries too; then it must give
-- what it gives else, or fail with a message, and be done when it is asked for again. Prints what
-- went wrong. Arguments: what, a folder, how many allocations to try at most, how far apart.
local ffi = require "ffi"
local flow = require "jfl"

ffi.cdef [[
  void faults_begin(const char *below, const char *which, int at, int times, int what);
  int faults_end(void);
  int fork(void);
  int waitpid(int pid, int *status, int how);
  void _exit(int status);
  int fcntl(int fd, int what);
]]
local C = ffi.C
io.stdout:setvbuf "no"
local what, folder, most, each = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4] or 1)
local ENOMEM, MEMORY, ONCE, ONWARDS = 12, "ap", 1, 0
local GOOD, BAD = 0, 1

local function path(name) return folder .. "/" .. name end

local train
local function step()
  local nd, tp = flow.ndarray, flow.typing
  train = train or flow.global_function { name = "train", type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4, 3, 12, 12 }) } },
    body = function(x)
      local y = flow.layers.conv2d(x, 16, 3, { name = "conv", activation = flow.nn.relu })
      local loss = flow.layers.dense(flow.reshape(y, { 4, -1 }), 10, { name = "fc" })
      flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss)
      return loss
    end }
  return train(nd.ones { 4, 3, 12, 12 }).shape[2]
end

local function filled()
  step()
  local all = {}
  for name, v in pairs(flow.get_all_variables()) do
    all[name] = flow.ndarray.full(v.shape, 3, v.dtype)
  end
  flow.load_variables(all)
end

local function weight() return flow.get_all_variables()["fc-weight"]:max() end

-- Each gives what it found; prepare makes what it reads.
local scenarios = {
  train = { act = step },
  save = { act = function()
    filled()
    flow.train.CheckPoint():save(path "it", { overwrite = true })
    return weight()
  end },
  load = {
    prepare = function() filled() flow.train.CheckPoint():save(path "it") end,
    act = function() step() flow.train.CheckPoint():load(path "it") return weight() end,
  },
  arrays = { act = function()
    flow.ndarray.save(path "it.npz", { a = flow.ndarray.arange(1000) })
    return flow.ndarray.load(path "it.npz").a:sum()
  end },
  table = {
    prepare = function()
      local file = io.open(path "it.csv", "w")
      file:write("a,b\n", ("1,2.5\n"):rep(500))
      file:close()
    end,
    act = function() return flow.data.csv(path "it.csv").b:sum() end,
  },
  pictures = {
    prepare = function()
      os.execute(("mkdir '%s' '%s'"):format(path "set", path "set/a"))
      flow.data.save_image(path "set/a/1.png", flow.ndarray.ones { 3, 20, 20 })
    end,
    act = function()
      local sum = 0
      flow.data.close_loop "train"
      local set = flow.data.folder(path "set", { size = 8 })
      for _, _, images in flow.data.batches(set, { batch_size = 1 }) do
        sum = sum + images:astype("float32"):sum()
      end
      return sum
    end,
  },
  box = { act = function()
    local box = flow.sandbox { seconds = 1000 }
    return box:run [[
      local flow = require "jfl"
      local t = {}
      for i = 1, 100 do t[i] = ("x"):rep(i) end
      return flow.ndarray.ones({ 10 }):sum() + #table.concat(t)
    ]]
  end },
}
local scenario = assert(scenarios[what], what)

local function open_files()
  local n = 0
  for fd = 0, 255 do n = n + (C.fcntl(fd, 1) >= 0 and 1 or 0) end      -- F_GETFD
  return n
end

-- Does it in a process of its own; whether that ended with GOOD.
local status = ffi.new "int[1]"
local function apart(fn)
  local child = C.fork()
  if child == 0 then
    local ok, why = pcall(fn)
    if not ok then print(why) end
    io.stdout:flush()
    C._exit(ok and GOOD or BAD)
  end
  assert(C.waitpid(child, status, 0) == child)
  return status[0] == 0
end

local function take(name)
  local file = assert(io.open(path(name)))
  local text = file:read "*a"
  file:close()
  return text
end

local function put(name, text)
  local file = assert(io.open(path(name), "w"))
  file:write(text)
  file:close()
end

assert(apart(function() if scenario.prepare then scenario.prepare() end end))
assert(apart(function()
  C.faults_begin("", MEMORY, 0, 0, 0)
  local value = scenario.act()
  put("calls", C.faults_end())
  put("want", tostring(value))
end))
local calls, want = tonumber(take "calls"), take "want"

local function try(at, times)
  return apart(function()
    C.faults_begin("", MEMORY, at, times, ENOMEM)
    local ok, got = pcall(scenario.act)
    C.faults_end()
    if ok then assert(tostring(got) == want, "it gives " .. tostring(got)) end
    assert(ok or type(got) == "string", "the error is no message")
    local again, after = pcall(scenario.act)
    assert(again and tostring(after) == want, "then: " .. tostring(after))
    local files = open_files()
    scenario.act()
    assert(open_files() == files, "files stay open")
  end)
end

local tried, wrong = 0, 0
for _, times in ipairs { ONCE, ONWARDS } do
  for i = 1, calls, math.max(each, calls / most) do
    local at = math.floor(i)
    tried = tried + 1
    if not try(at, times) then
      wrong = wrong + 1
      print(("%s: allocation %d of %d, %s: status %d"):format(what, at, calls,
        times == ONCE and "once" or "and all from there on", status[0]))
    end
  end
end
print(("%d allocations, %d wrong"):format(tried, wrong))
