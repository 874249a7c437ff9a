-- Forks: whatever a process has run, its children can run too, in any order.
local helper = require "spec.lua.helper"

-- Runs `before`, forks, and then makes a child that runs what is under each name of `after`; prints
-- the names whose child did not exit with status 0 within its time.
local SCRIPT = [==[
local BEFORE, THREADS, BATCH = ...
local ffi = require "ffi"
ffi.cdef "int fork(void); int waitpid(int, int *, int); unsigned alarm(unsigned); void _exit(int);"
local flow = require "jfl"
local tp = flow.typing
io.stdout:setvbuf "no"
flow.config.threads(THREADS)
flow.config.on_warning(function() end)      -- of runs that were lost, which the next sync raises

local function job(name, returns)
  return flow.global_function {
    name = name, type = "train", returns = returns,
    inputs = { { "x", tp.Numpy.Placeholder { BATCH, 200 } } },
    body = function(x)
      local y = flow.layers.dense(x, 200, { name = "layer",
        kernel_initializer = flow.ones_initializer() })
      local loss = flow.math.reduce_mean(y)
      flow.optimizer.SGD(0):minimize(loss)
      return loss
    end,
  }
end
local sync, async = job("sync", tp.Numpy), job("async", tp.Callback(tp.Numpy))
local x = flow.ndarray.ones { BATCH, 200 }

local function good(loss) assert(math.abs(loss:item() - 200) < 1e-2, loss:item()) end
local function run_sync() good(sync(x)) end
local function run_async()
  local called
  async(x)(function(loss) called = true good(loss) end)
  flow.sync()
  assert(called)
end
local function poll()
  local called
  async(x)(function() called = true end)
  while not called do flow.poll(0.01) end
end
local function save()
  local path = os.tmpname()
  os.remove(path)
  flow.train.CheckPoint():save(path)
  os.execute("rm -rf " .. path)
end

-- Runs that were queued or running are lost in a child, which is told so once for each.
local function told(f)
  for _ = 1, BEFORE == "flight" and 2 or 0 do
    local ok, message = pcall(f)
    if ok then return end
    assert(tostring(message):find("the process forked", 1, true), message)
  end
  f()
end

local function child_of(f)
  local pid = ffi.C.fork()
  if pid == 0 then
    ffi.C.alarm(300)
    local ok, message = pcall(f)
    if not ok then print(message) end
    ffi.C._exit(ok and 0 or 1)
  end
  local status = ffi.new "int[1]"
  return ffi.C.waitpid(pid, status, 0) == pid and status[0] == 0
end

local after = {
  sync = run_sync, async = run_async, poll = poll, save = save, wait = flow.sync,
  eager = function() assert((flow.ndarray.ones { 1000, 1000 } + 1):totable()[7][7] == 2) end,
  both = function() run_async() run_sync() end,
  define = function() job("later", tp.Numpy) run_sync() end,
  grandchild = function()
    told(run_sync)
    assert(child_of(function() told(run_async) end))
    told(run_async)
  end,
  ["grandchild first"] = function() assert(child_of(function() told(run_async) end)) run_sync() end,
  exit = function() told(flow.sync) os.exit(0) end,
  close = function() told(flow.sync) os.exit(0, true) end,
}

local before = {
  nothing = function() end,
  sync = run_sync, async = run_async,
  both = function() run_sync() run_async() run_sync() end,
  flight = function() async(x)(function() end) async(x)(function() end) end,
}

for name, f in pairs(after) do
  before[BEFORE]()
  if not child_of(function() told(f) end) then print(BEFORE, name, "failed") end
  run_sync()
  flow.sync()
end
-- A child may also be the one that goes on to the end of the script.
before[BEFORE]()
if ffi.C.fork() == 0 then
  ffi.C.alarm(300)
  told(run_async)
  async(x)(function() print "the end" end)
else
  ffi.C.waitpid(-1, ffi.new "int[1]", 0)
end
]==]

describe("forks #cpu", function()
  if helper.sanitized() then
    return pending("a lock of the sanitizer's allocator that is held at a fork stays locked")
  end

  for _, before in ipairs { "nothing", "sync", "async", "both", "flight" } do
    for threads = 1, 2 do
      it(("after: %s, %d threads"):format(before, threads), function()
        local arguments = ("(function(...) %s end)(%q, %d, 2000)"):format(SCRIPT, before, threads)
        local out, status = helper.script(arguments)
        assert.equal("the end\n", out)
        assert.equal(0, status, out)
      end)
    end
  end
end)
