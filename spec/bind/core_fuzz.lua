-- core_fuzz.lua SEED COUNT NAME...: calls functions of jfl.core with each of many values at each
-- place of a call that succeeds, and COUNT times with values at random, some inside a job's body or
-- in a coroutine, some of a session that was cleared. Its last line on stderr is the call that it
-- makes. Runs in a directory of its own; without a NAME it lists the functions.
local core = require "jfl.core"

local seed, count = tonumber(arg[1]), tonumber(arg[2])
local nan, inf = 0 / 0, 1 / 0

-- ---- objects ----

local function describe(name, mode, body)
  local graph = core.graph(name, mode)
  local before = core.trace(graph)
  body(graph)
  core.trace(before)
  return graph
end

local made = 0
local function fresh(prefix)
  made = made + 1
  return prefix .. made
end

local function adder()
  return describe("adder", "predict", function(graph)
    local x = core.input(graph, "x", "float32", { 2 })
    local v = core.variable(graph, { name = "v", dtype = "float32", shape = { 2 }, a = 1 })
    core.output(graph, core.op("add")(x, v))
  end)
end

local function new_job() return core.job(fresh "job", "predict") end
local function new_plan() return core.compile(new_job(), adder()) end

local function trained(body)
  local made_graph
  describe("trained", "train", function(graph)
    local w = core.variable(graph, { name = "w", dtype = "float32", shape = { 2 } })
    core.input(graph, "x", "float32", { 2 })
    made_graph = graph
    if body then body(graph, w) end
  end)
  return made_graph
end

local function loss_of(graph) return core.find_variable(graph, "w") end

local function minimized(graph)
  return { losses = { loss_of(graph) }, optimizer = "SGD", options = { momentum = 0.5 },
    schedule = "piecewise_constant_schedule",
    schedule_options = { boundaries = {}, values = { 0.1 } } }
end

local function train_plan()
  local graph = trained(function(g, w)
    core.minimize(g, minimized(g))
    core.output(g, w)
  end)
  return core.compile(core.job(fresh "train", "train"), graph)
end

local function array() return core.from_table({ { 1, 2, 3 }, { 4, 5, 6 } }, "float32") end

local function freed()
  local a = array()
  core.free(a)
  return a
end

local function finished()
  local r = core.call(new_plan(), { 1, 2 })
  while not core.done(r) do core.wait(r) end
  return r
end

local function called() return core.call(new_plan(), { 1, 2 }) end

local function input_of(graph)
  return core.input(graph, "given", "float32", { 2 })
end
local function new_behind()
  local graph = core.graph(fresh "behind", "predict")
  local x = input_of(graph)
  core.output(graph, x)
  return new_job(), graph, { x }, 1
end
local function new_task() return core.task("task", {}, false) end
local function new_file() return core.file_make(fresh "made") end

local function written(text)
  local name = fresh "written"
  core.file_write(core.file_make(name), text or "a text", 0)
  return name
end

local TOKENIZER = '{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}'

local function tokenizer() return core.tokenizer_parse(TOKENIZER, "fuzz") end

local function saved()
  new_plan()
  core.save("saved", true)
  return "saved"
end

-- The same where a call only reads it: it is written once, as the disk takes its time.
local is_kept
local function kept()
  new_plan()
  if not is_kept then core.save("kept", true) end
  is_kept = true
  return "kept"
end

local function blob(graph) return core.find_variable(graph or trained(), "w") end

-- ---- calls that succeed, of every function of the core ----

local PICTURE = { fit = "stretch", channels = 3, height = 2, width = 2 }

-- A loader that has a batch to give.
local function wanting()
  local file = io.open("a.jpg", "w")
  file:write(core.bytes(core.jpeg(core.array("uint8", { 2, 3, 3 }), 90, "who")))
  file:close()
  local loader = core.loader(PICTURE, 1, "who")
  core.loader_want(loader, { "a.jpg" }, { 7 })
  return loader
end

local MEL = { rate = 8000, n_fft = 32, hop = 16, bands = 4 }

-- The bytes of a WAV file with two samples.
local function sound()
  return "RIFF\40\0\0\0WAVEfmt \16\0\0\0\1\0\1\0\64\31\0\0\128\62\0\0\2\0\16\0data\4\0\0\0\1\2\3\4"
end

local traced = adder()
local good = {
  abandon = function() end,
  array = function() return "float32", { 2, 3 } end,
  assign = function() return array(), array() end,
  bytes = array,
  call = function() return new_plan(), { 1, 2 } end,
  busy = called,
  cancel = called,
  cast = function() return array(), "int32", true end,
  checkpoint_about = function() return core.checkpoint_open(kept()) end,
  checkpoint_close = function() return core.checkpoint_open(kept()) end,
  checkpoint_open = kept,
  checkpoint_read = function() return core.checkpoint_open(kept()), 1, "float32", { 2 } end,
  checkpoint_remove = saved,
  checkpoint_take = function() return core.checkpoint_open(kept()), { "v" }, { false } end,
  checkpoint_tensor = function() return core.checkpoint_open(kept()), 1 end,
  clock = function() end,
  columns = function() return 1 end,
  change_view = function()
    local g = trained()
    return g, blob(g), true
  end,
  compile = function() return new_job(), adder() end,
  copy = array,
  view = function() return core.array("uint8", { 34 }), "q8_0", { 32 } end,
  crc32 = array,
  decode = function() return core.array("uint8", { 4 }), 0, "|u1", "abcd", "who" end,
  deflate = function() return "text", "zlib" end,
  device = function() end,
  device_count = function() return "cpu" end,
  device_absence = function() return "gpu" end,
  digits = function() return core.array("int64", { 2 }), 1 end,
  directory = function() return "." end,
  csv = function()
    local file = io.open("a.csv", "w")
    file:write("a,b\n1,x\n")
    file:close()
    return "a.csv", { separator = ",", header = true, missing = { "" }, typed = { "a" },
      types = { "int32" } }, "who"
  end,
  done = finished,
  due = function() return true end,
  fd = function() end,
  file_close = new_file,
  file_make = function() return fresh "made" end,
  file_open = function() return written() end,
  file_remove = function() return written() end,
  tokenizer = function() return written(TOKENIZER), "fuzz" end,
  tokenizer_parse = function() return TOKENIZER, "fuzz" end,
  tokenizer_train = function()
    return { "a b ab" }, { size = 300, least = 1, special = { "<s>" } }, "fuzz"
  end,
  tokenizer_encode = function() return tokenizer(), "ab", nil, {}, true, "fuzz" end,
  tokenizer_batch = function() return tokenizer(), { "ab", "b" }, nil, {}, "fuzz" end,
  tokenizer_decode = function() return tokenizer(), { 0, 1 }, true, "fuzz" end,
  tokenizer_token = function() return tokenizer(), 0 end,
  tokenizer_id = function() return tokenizer(), "a" end,
  tokenizer_size = function() return tokenizer() end,
  tokenizer_json = function() return tokenizer() end,
  file_array = function() return core.file_open(written()), "uint8", { 3 }, 1 end,
  file_open_within = function() return ".", written() end,
  file_read = function() return core.file_open(written()), 3, 1 end,
  file_size = new_file,
  file_write = function() return new_file(), "text", 0 end,
  fill = function() return array(), 1 end,
  finish = function() return tostring end,
  find_variable = function() return trained(), "w" end,
  distribute = function() return core.input(trained(), "split", "float32", { 4 }), "split", 0 end,
  distribution = function() return blob(trained()) end,
  free = array,
  from_bytes = function() return "abcd", "uint8", { 4 } end,
  from_table = function() return { { 1, 2 } }, "float32", { 1, 2 }, "what" end,
  front_end = function() return tostring, tostring, tostring, tostring end,
  get = function() return array(), 1, 2 end,
  gradients = function()
    local g = trained()
    return g, blob(g), blob(g), { blob(g) }
  end,
  graph = function() return "name", "predict" end,
  graph_free = adder,
  graph_mode = adder,
  graph_parts = adder, graph_text = adder,
  inflate = function() return core.bytes(core.deflate("text", "zlib")), "zlib", 4, "what" end,
  input = function() return core.graph("g", "predict"), "x", "float32", { 2 } end,
  inflate_head = function() return core.bytes(core.deflate("text", "zlib")), "zlib", 4, "what" end,
  inflate_within = function() return core.bytes(core.deflate("text", "zlib")), "zlib", 9, "a" end,
  is_directory = function() return "x" end,
  is_file = function() return "x" end,
  is_there = function() return "x" end,
  jpeg = function() return core.array("uint8", { 2, 3, 3 }), 90, "who" end,
  loader = function() return PICTURE, 1, "who" end,
  loader_close = function() return core.loader(PICTURE, 1, "who") end,
  loader_take = function() return wanting(), "who" end,
  loader_take_some = function() return wanting(), "who" end,
  loader_want = function()
    return core.loader(PICTURE, 1, "who"), { "a.jpg" }, { 7 }, { 0 }, { 0 }
  end,
  mel = function() return core.array("float32", { 64 }), MEL, "who" end,
  pack = function()
    local file = io.open("part-0", "w")
    file:write("\3\0\0\0\0\0\0\0abc")
    file:close()
    return "part-0", "ofrecord", "who"
  end,
  resample = function() return core.array("float32", { 8 }), 8000, 16000, "who" end,
  sample = function()
    return sound(), { kind = "sound", rate = 8000, channels = 1 }, 3, "what"
  end,
  sound_head = function() return sound(), "what" end,
  is_freed = freed,
  is_interruption = function() return "error" end,
  is_shape = function() return {} end,
  job = function() return fresh "job", "predict" end,
  job_mode = function() return new_job(), "train" end,
  leave = function() return { key = false }, "key" end,
  live_bytes = function() end,
  load = function() return core.checkpoint_open(kept()), false, { "v" } end,
  machine_peak = function() return 1 end,
  world = function() end,
  world_trouble = function() end,
  world_host = function() return 0 end,
  world_gather = function() return "abc" end,
  -- which fails, as this process has found out that it is alone
  world_set = function() core.world() return { "localhost" }, 0, 0 end,
  make_directory = function() return "made/deep" end,
  members = adder,
  mirror = function() return core.graph("g", "train"), true end,
  micro_batches = function() return core.graph("g", "train"), 2 end,
  product_input = function()
    local graph = trained()
    return graph, loss_of(graph), 0
  end,
  round_blob = function()
    local graph, v = trained(), nil
    describe("scale", "predict", function(g)
      graph, v = g, core.variable(g, { name = "v", dtype = "float32", shape = { 1 }, a = 1 })
    end)
    return graph, v, v, "int8"
  end,
  mixed_precision = function() return core.graph("g", "train"), "bfloat16" end,
  minimize = function()
    local g = trained()
    return g, minimized(g)
  end,
  need_blob = function()
    local g = trained()
    return g, blob(g), "what"
  end,
  name_check = function() return "who", "what", "name" end,
  never_new = function() return false end,
  never_wait = function() return false end,
  now = function() end,
  of_device = function() return core.graph("g", "train"), 1 end,
  op = function() return "relu" end,
  part = function()
    local x = core.array("float32", { 4 })
    return "relu", { x }, {}, { core.array("float32", { 2 }) }, 2, 1, 1
  end,
  ops = function() end,
  op_paths = function() end,
  shard = function() return core.graph("g", "train"), 100 end,
  recompute = function() return core.graph("g", "train"), true end,
  schedules = function() end,
  optimizer_check = function() return "SGD", { momentum = 0.5 } end,
  optimizers = function() end,
  own = function() return new_plan(), {}, unpack, { { "a", tostring, "where", unpack } }, 2 end,
  output = function()
    local g = trained()
    return g, blob(g)
  end,
  output_drop = function() return core.output_open("written", "who") end,
  output_keep = function() return core.output_open("written", "who"), "who" end,
  output_open = function() return "written", "who" end,
  output_rights = function() return core.output_open("written", "who"), saved(), "who" end,
  output_write = function() return core.output_open("written", "who"), "text", "who" end,
  passes = function() end,
  peek = called,
  pending = function() end,
  place = function()
    core.trace(core.graph("placed", "predict"))
    return "cpu"
  end,
  plan_free = new_plan,
  plan_pinned = new_plan,
  disturbances = function() end,
  plan_rate = function() return train_plan(), 1 end,
  plan_rate_set = function() return train_plan(), 1 end,
  plan_steps = new_plan,
  plan_set_rate = function() return train_plan(), 1, 0.5 end,
  plan_text = new_plan,
  plan_variables = new_plan,
  poll = function() return 0 end,
  pointer = array,
  printable = function() return "a\27[31m" end,
  matches = function() return "^a(b|c)+$", "abc" end,
  process = function() end,
  profile_start = function()
    pcall(core.profile_stop)
    return 100
  end,
  profile_stop = function()
    pcall(core.profile_start, 100)
    return "trace.json"
  end,
  ramp = function() return "float32", 4, 0, 1, "who" end,
  read_behind = new_task,
  register = function() return called(), tostring, tostring end,
  request_job = finished,
  reset = function() end,
  reshape = function() return array(), { 3, -1 } end,
  rows = function() return array(), 0, 1 end,
  run = function() return new_plan(), { 1, 2 } end,
  run_watched = function() return new_plan(), { 1, 2 } end,
  save = function() return "saved", true, { "key" }, { "value" } end,
  save_behind = function() return new_task(), "saved", true, { "key" }, { "value" } end,
  signatures = function() return "relu", { core.array("float32", { 4 }) }, {}, 2 end,
  schedule_rate = function()
    return "piecewise_constant_schedule", { boundaries = {}, values = { 0.1 } }, 1
  end,
  set = function() return array(), 1, 1, 2 end,
  set_behind = function()
    new_plan()
    return new_task(), { "v" }, { core.variable_get("v") }, {}
  end,
  source = function() return "jfl.nd.array" end,
  submit = function() return new_plan(), { 1, 2 } end,
  settle = function() end,
  sync = function() end,
  compile_behind = new_behind,
  plan_await = function() return core.compile_behind(new_behind()) end,
  plan_state = function() return core.compile_behind(new_behind()) end,
  task = function() return "task", {}, false end,
  to_table = array,
  trace = function() return traced end,
  tracing = function() end,
  type = array,
  value = called,
  value_place = function() return blob(trained()) end,
  variable = function()
    return core.graph("g", "predict"), { name = "v", dtype = "float32", shape = { 2 },
      init = "uniform", a = 0, b = 1, trainable = true, l1 = 0, l2 = 0 }
  end,
  variable_get = function()
    new_plan()
    return "v"
  end,
  variable_drop = function()
    local graph = core.graph("g", "predict")
    core.output(graph, core.variable(graph, { name = "dropped", dtype = "float32", shape = { 2 } }))
    core.plan_free(core.compile(new_job(), graph))
    return "dropped"
  end,
  variables_defer = function() return true end,
  has_variable = function() return "v" end,
  variable_info = function()
    new_plan()
    return "v"
  end,
  variable_distribution = function()
    new_plan()
    return "v"
  end,
  hand_out = function() return "agree", "text" end,
  variable_set = function()
    new_plan()
    return "v", { 1, 2 }
  end,
  variables = function() end,
  wait = function() return finished(), 0 end,
  wait_for_files = function() end,
  warn = function() return "a warning" end,
  watch_gradient = function()
    local g = trained()
    return g, blob(g), "where"
  end,
  where = function() end,
  within = function() return { key = false }, "key", 1, nil, tostring, 1 end,
  write_arrays = function() return "saved", true, { "a" }, { array() } end,
}

-- ---- values ----

local function mean() error("mean", 0) end
local looped = {}
looped[1] = looped
local stale = {}                  -- objects of a session that was cleared

--- Objects are made anew, as calls may use them up.
local function values()
  local graph = trained()
  local closed = adder()
  local closed_checkpoint = core.checkpoint_open(kept())
  local free_plan = new_plan()
  core.compile(new_job(), closed)
  core.checkpoint_close(closed_checkpoint)
  core.plan_free(free_plan)
  local list = {
    true, false, 0, 1, 2, -1, 0.5, nan, inf, -inf, 2 ^ 31, -2 ^ 31, 2 ^ 53, 2 ^ 62, -2 ^ 63, 1e300,
    "", "a", "float32", "int8", "train", "zlib", "relu", "\0", "a\0b", "\255\254", ("x"):rep(5000),
    "\27[31m", {}, { 1 }, { 2, 3 }, { nan }, { -1, -1 }, { 2 ^ 31, 2 ^ 31 }, { 2 ^ 62 },
    { -2 ^ 63 }, { 0, 2 ^ 53, 2 ^ 53 }, { {} }, { { 1 }, { 1, 2 } }, { "a" }, { { "a" } },
    { name = "n" }, { name = "n", dtype = "float32", shape = { 2 } }, { losses = 1 }, looped,
    { array() }, { freed() }, { [2 ^ 40] = 1 }, setmetatable({}, { __index = mean }),
    tostring, mean, coroutine.create(function() end), io.stdout,
    newproxy(true), core.pointer(array()), array(), freed(), core.array("float32", { 0, 3 }),
    core.array("float64", {}), core.array("int64", { 4 }), core.rows(array(), 1, 1), graph, closed,
    blob(graph), blob(traced), new_job(), new_plan(), free_plan, finished(), new_task(),
    core.read_behind(new_task()), core.compile_behind(new_behind()),
    core.checkpoint_open(kept()), closed_checkpoint, core.output_open("other", "who"),
    core.op("softmax"), core, core.array_mt, getmetatable(graph) or {},
  }
  for _, v in ipairs(stale) do list[#list + 1] = v end
  return list
end

local function show(v)
  local kind = core.type(v)
  if kind then return kind end
  return type(v) == "string" and ("%q"):format(v:sub(1, 20)) or tostring(v)
end

-- ---- calls ----

local state = seed
local function random(n)
  state = (state * 16807) % 2147483647
  return state % n + 1
end

local function tell(name, n, args)
  local text = {}
  for i = 1, n do text[i] = show(args[i]) end
  io.stderr:write(name, "(", table.concat(text, ", "), ")\n")
end

local function call(name, f, n, args)
  tell(name, n, args)
  local way = random(8)
  if way == 1 then
    coroutine.wrap(function() pcall(f, unpack(args, 1, n)) end)()
  elseif way == 2 then
    core.within({ key = false }, "key", 1, nil, f, unpack(args, 1, n))
  elseif way == 3 then
    local before = core.trace(traced)
    pcall(f, unpack(args, 1, n))
    core.trace(before)
  else
    pcall(f, unpack(args, 1, n))
  end
end

local function pack(...) return select("#", ...), { ... } end

--- Each value at each place of a good call, one more than it has, and fewer arguments.
local function spoil(name, f, example)
  local n = pack(example())
  local n_value = #values()
  for place = 1, n + 1 do
    local list = values()
    for k = 1, n_value do
      local _, args = pack(example())
      args[place] = list[k]
      call(name, f, math.max(n, place), args)
    end
    local _, args = pack(example())
    call(name, f, place - 1, args)
  end
end

-- What gives no result, not even nil.
local GIVES_NOTHING = {}
for name in ("fill free minimize output own plan_set_rate profile_start register settle "
  .. "variable_drop variable_set variables_defer watch_gradient"):gmatch "%S+" do
  GIVES_NOTHING[name] = true
end

local function at_random(name, f, example)
  local list = values()
  for i = 1, count do
    if i % 20 == 0 then list = values() end
    local n, args = pack(example())
    for place = 1, n + random(2) - 1 do
      if random(3) > 1 then args[place] = list[random(#list)] end
    end
    call(name, f, random(4) == 1 and random(n + 2) - 1 or n, args)
  end
end

-- ---- what is called ----

local function metamethods(list, of, mt, example)
  for name, f in pairs(mt or {}) do
    if type(f) == "function" then list[of .. name] = { f, example } end
  end
end

--- What a plan's owner gives is used by the calls that follow.
local function owned_call(plan, ...)
  core.own(plan, ...)
  local request = core.call(plan, { 1, 2 })
  core.register(request, tostring, tostring)
  pcall(core.run_watched, plan, { 1, 2 })
  pcall(core.poll)
  pcall(core.value, request)
  core.settle()
  core.sync()
end

--- { function, maker of good arguments } by name.
local function functions()
  local list = {}
  for name, f in pairs(core) do
    if type(f) == "function" then list[name] = { f, good[name] } end
  end
  -- Other forms: settings, and a format with what it wants.
  list.fail = { core.fail, function() return "%s %d", "x", 1 end }
  list["get setting"] = { core.get, function() return "threads" end }
  list["set setting"] = { core.set, function() return "seed", 1 end }
  list["call of an owned plan"] = { owned_call, good.own }
  metamethods(list, "array", core.array_mt, function() return array(), 1, 2 end)
  metamethods(list, "blob", core.blob_mt, function() return blob(), "shape" end)
  for name in pairs(core.ops()) do
    list["op " .. name] = { core.op(name), function() return array(), array() end }
  end
  return list
end

--- Whether the core still does its work.
local function works()
  core.trace(nil)
  core.reset()
  local sum = core.run(new_plan(), { 1, 2 })
  return core.get(sum, 2) == 3
end

-- The last one ends all calls for good, and the others leave what they were told to.
local function by_end(a, b)
  if (a == "finish") ~= (b == "finish") then return b == "finish" end
  return a < b
end

local list = functions()
if not arg[3] then
  local names = {}
  for name in pairs(list) do names[#names + 1] = name end
  table.sort(names, by_end)
  for _, name in ipairs(names) do print(name, list[name][2] and "" or "no example") end
  return
end
for _, v in ipairs { new_job(), new_plan(), finished() } do stale[#stale + 1] = v end
core.reset()
for i = 3, #arg do
  local f, example = unpack(list[arg[i]])
  repeat until pcall(core.sync)      -- it raises what callbacks of the calls before have left
  -- Machines are named before the ranks meet, and here they have met.
  local fails = arg[i] == "fail" or arg[i] == "world_set"
  if core[arg[i]] and not fails then
    local n = pack(assert(pcall(f, example())))
    assert(n == 1 or not GIVES_NOTHING[arg[i]], arg[i] .. " gives a result")
  end
  spoil(arg[i], f, example)
  at_random(arg[i], f, example)
  core.trace(nil)
end
io.stderr:write("the end\n")
assert(arg[#arg] == "finish" or works())
print("fine")
