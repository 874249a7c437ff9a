-- Times ops in turn with PyTorch and prints milliseconds and their ratio:
--   jfl scripts/bench/vocabulary.lua [AREA | ROW]...
-- The rows are in scripts/bench/rows: AREA.lua says what runs here, AREA.py the same there. A row
-- with a gradient is timed twice, without it and with it. PyTorch is that of scripts/bench/setup,
-- or of the Python in JFL_PEER; the better of eager and compiled counts. Both sides keep large
-- blocks of memory instead of giving them back after each call.
local core = require "jfl.core"
local flow = require "jfl"

local tp = flow.typing
local nd = flow.ndarray

local CLEAN = "env -u OPENBLAS_CORETYPE -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS "
local KEEP = "MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184 "
local PYTHON = os.getenv "JFL_PEER" or "build/peer/bin/python3"
local ROUNDS, SECONDS = 3, tonumber(os.getenv "JFL_BENCH_SECONDS" or 0.3)
local THREADS = core.get "threads"

-- The variables of malloc are read when a process starts.
if not os.getenv "MALLOC_TRIM_THRESHOLD_" then
  local words = { CLEAN .. KEEP .. arg[-1], arg[0] }
  for _, name in ipairs(arg) do words[#words + 1] = ("%q"):format(name) end
  os.exit(os.execute(table.concat(words, " ")) == 0 and 0 or 1)
end

-- ---- the peer: one process, asked through a pipe, which answers through a named one ----

local peer

local function start_peer()
  if os.execute(PYTHON .. " -c 'import torch' 2>/dev/null") ~= 0 then
    print "PyTorch is not here (scripts/bench/setup installs it): only our side is measured"
    return nil
  end
  local replies = os.tmpname()
  os.remove(replies)
  assert(os.execute("mkfifo " .. replies) == 0)
  local requests = io.popen(("%s scripts/bench/peer_rows.py %d > %s 2>/dev/null"):format(PYTHON,
    THREADS, replies), "w")
  return { requests = requests, replies = io.open(replies), name = replies }
end

local function json(v)
  if type(v) ~= "table" then return type(v) == "string" and ("%q"):format(v) or tostring(v) end
  local parts = {}
  for i, x in ipairs(v) do parts[i] = json(x) end
  return "[" .. table.concat(parts, ",") .. "]"
end

--- Milliseconds there and the mode that was fastest; nil where there is no such row.
local function theirs(row, backward)
  if not peer then return nil end
  peer.requests:write(([[{"area": %q, "row": %q, "inputs": %s, "backward": %s, "seconds": %g}]]
    .. "\n"):format(row.area, row.name, json(row.inputs), tostring(backward), SECONDS))
  peer.requests:flush()
  local ms, mode = (peer.replies:read "*l" or ""):match "^(%S+) (%S+)$"
  return tonumber(ms), mode
end

-- ---- our side ----

local function filled(input)
  local shape, dtype, low, high = unpack(input)
  return (nd.rand(shape) * (high - low) + low):astype(dtype)
end

--- The gradients of y for a dy that is given, of all float inputs.
local function gradients(y, dy, blobs)
  local wanted, list = {}, {}
  for _, b in ipairs(blobs) do
    if b.dtype:find "float" then wanted[#wanted + 1] = b end
  end
  local graph = require("jfl.job.trace").current.graph
  for _, g in ipairs(core.gradients(graph, y, dy, wanted)) do
    if g then list[#list + 1] = g end
  end
  return list
end

local function step_of(row, backward)
  local arrays, inputs = {}, {}
  for i, input in ipairs(row.inputs) do
    arrays[i] = filled(input)
    inputs[i] = { "x" .. i, tp.Numpy.Placeholder(input[1], input[2]) }
  end
  local dy
  local job = flow.global_function {
    name = "row", inputs = inputs, returns = tp.List(tp.Numpy),
    body = function(...)
      local y = row.f(...)
      if not backward then return { y } end
      dy = dy or flow.get_variable("dy", { shape = y.shape, dtype = y.dtype,
        initializer = flow.random_uniform_initializer() })
      return gradients(y, dy, { ... })
    end,
  }
  -- PyTorch gives the memory of results back at once, so ours is too.
  return function()
    for _, y in ipairs(job(unpack(arrays))) do y:free() end
  end
end

local function median(step)
  step()
  step()
  local times, begin = {}, core.now()
  while #times < 5 or core.now() - begin < SECONDS do
    local start = core.now()
    step()
    times[#times + 1] = core.now() - start
  end
  table.sort(times)
  return 1e3 * times[math.ceil(#times / 2)]
end

-- ---- the table ----

local LINE = "%-44s %-9s %10s %10s %6s  %s"

local function middle(list)
  table.sort(list)
  return list[math.ceil(#list / 2)]
end

--- How near a row that has no peer is to a loop that only moves so many bytes.
local function share_of_copy(row, ms)
  local _, bytes = core.machine_peak(THREADS)
  return ("%.0f%% of copy"):format(1e5 * row.bytes / bytes / ms)
end

local function print_row(row, backward)
  flow.clear_default_session()
  local mine, other, mode, step = {}, {}, nil, (row.step or step_of)(row, backward)
  for i = 1, ROUNDS do
    mine[i] = median(step)
    other[i], mode = theirs(row, backward)
  end
  local a, b = middle(mine), middle(other)
  if not b then mode = row.bytes and share_of_copy(row, a) or "" end
  print(LINE:format(row.name, backward and "backward" or "forward", ("%.3f"):format(a),
    b and ("%.3f"):format(b) or "-", b and ("%.2f"):format(a / b) or "-", mode))
  io.stdout:flush()
end

--- Adds a row. inputs: shapes, or { shape, dtype, low, high }; numbers from low to high, -1 to 1
--- unless told. f: from blobs to a blob. options: backward = false where there is no gradient;
-- step, where f is nil: a function that makes the step to time; bytes: how many it moves.
local function reader(area, list)
  return function(name, inputs, f, options)
    local full = {}
    for i, input in ipairs(inputs) do
      local is_shape = type(input[1]) == "number"
      full[i] = is_shape and { input, "float32", -1, 1 }
        or { input[1], input[2] or "float32", input[3] or -1, input[4] or 1 }
    end
    options = options or {}
    list[#list + 1] = { area = area, name = name, inputs = full, f = f, step = options.step,
      bytes = options.bytes, backward = f ~= nil and options.backward ~= false }
  end
end

local rows, wanted = {}, {}
for _, name in ipairs(arg) do wanted[name] = true end
for file in io.popen("ls scripts/bench/rows/*.lua"):lines() do
  dofile(file)(reader(file:match "([^/]+)%.lua$", rows))
end

peer = start_peer()
print(LINE:format("", "", "jfl ms", "PyTorch ms", "ratio", "its mode"))
for _, row in ipairs(rows) do
  if not next(wanted) or wanted[row.area] or wanted[row.name] then
    print_row(row, false)
    if row.backward then print_row(row, true) end
  end
end
if peer then os.remove(peer.name) end
