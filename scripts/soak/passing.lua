-- What comes and goes in a long soak: jobs that are defined again, boxes, loaders, callbacks that
-- fail, interrupts, worlds of ranks; and what of a process must not grow by them.
local flow = require "jfl"
local nd, tp = flow.ndarray, flow.typing

local passing = { actions = {} }
local actions = passing.actions
local scratch = os.tmpname()
os.remove(scratch)
os.execute("mkdir -p " .. scratch .. "/set/a")
flow.data.save_image(scratch .. "/set/a/1.png", nd.ones { 3, 20, 20 })

local function fails(fn, text)
  local ok, message = pcall(fn)
  assert(not ok and tostring(message):find(text, 1, true), tostring(message))
end

-- A job of that name whose body is new, so that the one before goes.
function actions.redefine()
  local factor = math.random(100)
  local job = flow.global_function { name = "redefined", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 4 }) } },
    body = function(x) return x * factor end }
  assert(job(nd.ones { 4 }):mean() == factor)
end

function actions.box()
  local box = flow.sandbox { memory = "16M", seconds = 100, instructions = 1e6 }
  assert(box:run "local t = {} for i = 1, 100 do t[i] = i end return #t" == 100)
  fails(function() box:run "error 'on purpose'" end, "on purpose")
  fails(function() box:run "while true do pcall(error) end" end, "instructions")
  fails(function() box:run "local s = 'x' while true do s = s .. s end" end, "memory")
  if math.random(2) == 1 then box:close() end
end

function actions.loader()
  local set = flow.data.folder(scratch .. "/set", { size = 8 })
  flow.data.close_loop "train"
  for _, _, images in flow.data.batches(set, { batch_size = 1 }) do
    assert(images.shape[1] == 1)
    if math.random(2) == 1 then break end
  end
end

local echo = flow.global_function { name = "echo", returns = tp.Callback(tp.Numpy),
  inputs = { { "x", tp.Numpy.Placeholder({ 4 }) } }, body = function(x) return x + 1 end }

function actions.callback_fails()
  echo(nd.ones { 4 })(function() error("on purpose", 0) end)
  fails(function() flow.sync() end, "on purpose")
end

function actions.interrupt()
  fails(function()
    io.popen("kill -INT $PPID"):close()        -- os.execute would keep the signal away
    for _ = 1, 1e9 do local _ = {} end
  end, "interrupted")
end

-- Seldom, as it takes as long as thousands of other calls.
local WORLD = [[
local flow = require "jfl"
local job = flow.global_function { name = "train", type = "train", returns = flow.typing.Numpy,
  inputs = { { "x", flow.typing.Numpy.Placeholder({ 4, 8 }) } },
  body = function(x)
    local loss = flow.layers.dense(x, 3, { name = "fc" })
    flow.optimizer.SGD(0.1):minimize(loss)
    return loss
  end }
for _ = 1, 5 do job(flow.ndarray.ones { 4, 8 }) end
if arg[1] == "dies" and flow.env.rank() == 1 then os.execute "kill -KILL $PPID" end
job(flow.ndarray.ones { 4, 8 })
]]

function passing.world()
  local path, dies = scratch .. "/world.lua", math.random(4) == 1
  local file = io.open(path, "w")
  file:write(WORLD)
  file:close()
  local status = os.execute(("%s --ranks 2 %s %s >%s/said 2>&1"):format(arg[-1], path,
    dies and "dies" or "", scratch))
  assert(dies == (status ~= 0), status)
end

local function lines_of(command)
  local pipe = io.popen(command)
  local n = tonumber((pipe:read "*a"))
  pipe:close()
  return n
end

local function resident()
  local file = assert(io.open "/proc/self/statm")
  local pages = select(2, file:read("*n", "*n"))
  file:close()
  return pages * 4096 / 2 ^ 20
end

--- What must stay as it is: resident MiB, descriptors, threads, files.
function passing.sample()
  return { resident(), lines_of "ls /proc/$PPID/fd | wc -l",
    lines_of "ls /proc/$PPID/task | wc -l", lines_of("find " .. scratch .. " | wc -l") }
end

function passing.finish() os.execute("rm -rf " .. scratch) end

return passing
