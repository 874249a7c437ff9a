-- Run with build/faults.so: does something with files, over and over, with each system call of it
-- failing in turn, and prints what went wrong. Arguments: what, a folder, how many of the calls to
-- try at most.
local ffi = require "ffi"
local flow = require "jfl"
local bundle_format = require "jfl.tools.bundle_format"
local profile = require "jfl.tools.profile"

ffi.cdef [[
  void faults_begin(const char *below, const char *which, int at, int times, int what);
  int faults_end(void);
  const char *faults_letters(void);
  typedef struct { int on, n, at, times, what, pieces; char below[4096], which[64], log[8192]; }
    faults_state;
  int fork(void);
  int waitpid(int pid, int *status, int how);
  void _exit(int status);
  int fcntl(int fd, int what);
  const char *strerror(int number);
]]
local C = ffi.C
local nd, tp = flow.ndarray, flow.typing
local what, folder, most = arg[1], arg[2], tonumber(arg[3])

local EINTR, EIO, EMFILE, ENOSPC, SIGKILL = 4, 5, 24, 28, 9
local ENDS, PART, ONWARDS = -1, -2, 0      -- of faults_begin
local WAITS = "orwfk"                      -- calls that a signal may interrupt

-- fails: a failed call must fail what is done, or it goes on without; else it must be done.
local MODES = {
  { name = "fails", error = EIO, times = 1, fails = true },
  { name = "fails from there on", error = ENOSPC, times = ONWARDS, fails = true },
  { name = "lacks descriptors from there on", error = EMFILE, times = ONWARDS, which = "olL",
    fails = true },
  { name = "is interrupted", error = EINTR, times = 3, which = WAITS },
  { name = "does a part from there on", error = PART, times = ONWARDS, which = "rw" },
  { name = "is the last one", error = ENDS, times = 1 },
}

-- ---- what is done ----

local function path(name) return folder .. "/" .. name end

local function text_of(name)
  local file = io.open(path(name), "rb")
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

local function write(name, text)
  local file = assert(io.open(path(name), "wb"))
  file:write(text)
  file:close()
end

local function job_of(name)
  return flow.global_function { name = name, type = "train", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 2, 40 }) } },
    body = function(x)
      local loss = flow.layers.dense(x, 30, { name = "fc" })
      flow.optimizer.SGD(0.5, { momentum = 0.9 }):minimize(loss)
      return loss
    end }
end

local train
local checkpoint = flow.train.CheckPoint()

local function fill_all(value)
  local all = {}
  for name, v in pairs(flow.get_all_variables()) do all[name] = nd.full(v.shape, value, v.dtype) end
  flow.load_variables(all)
end

-- Sets all variables to a number.
local function fill(value)
  if not train then
    train = job_of "train"
    train(nd.ones { 2, 40 })
  end
  fill_all(value)
end

local function filled()
  local value
  for _, v in pairs(flow.get_all_variables()) do
    local least, largest = v:min(), v:max()
    if least ~= largest or (value and value ~= least) then return "a mixture" end
    value = least
  end
  return value
end

-- What loading the folder gives.
local function loaded(name)
  fill(0)
  local ok = pcall(checkpoint.load, checkpoint, path(name), { strict = true })
  return ok and filled() or "nothing"
end

local function save_variables(name, value)
  fill(value)
  checkpoint:save(path(name), { overwrite = true })
end

-- A network all of whose variables are a number, if one is given.
local net
local function net_of(value)
  if not net then
    net = flow.models.gpt2 { vocab_size = 9, n_embd = 8, n_layer = 1, n_head = 2 }
    net:predict { inputs = { flow.int32 { 1, 3 } } }
  end
  if value then fill_all(value) end
  return net
end

local predict
local function predictor()
  predict = predict or flow.global_function { name = "predict", returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder({ 2, 40 }) } },
    body = function(x) return flow.layers.dense(x, 30, { name = "fc" }) end }
  return predict
end

local DATA = { nd.ones { 4, 40 } }         -- of a training

local picture = nd.arange(3 * 20 * 20):reshape({ 3, 20, 20 }) / 1200
local svg = { svg = path "it" }

-- ---- commands, whose own calls are those that fail ----

local function absolute(name)
  local pipe = io.popen(("realpath '%s'"):format(name))
  local text = pipe:read "*l"
  pipe:close()
  return text
end

local faults = absolute "build/faults.so"
local planned                  -- what is to fail in the next command, as JFL_FAULTS tells it
local counted                  -- what faults.so counted in the last one

local function quoted(text) return "'" .. text .. "'" end

-- What a file outside of the folder has, which is removed.
local function take(name)
  local file = io.open(name, "rb")
  local text = file and file:read "*a" or ""
  if file then file:close() end
  os.remove(name)
  return text
end

-- Runs a command in the folder and gives what it prints; an error tells that where it failed.
local function run(line)
  local out, state = folder .. ".out", folder .. ".state"
  local status = os.execute(
    ("cd %s && LD_PRELOAD=%s %s JFL_FAULTS_STATE=%s TMPDIR=%s %s >%s 2>&1"):format(quoted(folder),
    quoted(faults), planned and "JFL_FAULTS=" .. quoted(planned) or "", quoted(state),
    quoted(folder), line, quoted(out)))
  counted = ffi.new "faults_state"
  local text = take(state)
  ffi.copy(counted, text, math.min(#text, ffi.sizeof(counted)))
  text = take(out)
  if status ~= 0 then error(text, 0) end
  return text
end

local program = absolute(arg[-1])
local bundled = folder .. ".bundle"

-- A file that takes another's place: act() writes it.
local function writes(name, act)
  return {
    prepare = function() write(name, "old") end,
    act = act,
    look = function()
      local text = text_of(name)
      return text == "old" and "old" or text
    end,
  }
end

-- Something that is read: act() gives it.
local function reads(prepare, act, more)
  local got
  return {
    prepare = prepare,
    before = function() got = "old" end,
    act = function() got = act() end,
    look = function() return got end,
    command = more and more.command,
    names = more and more.names,
    tells = more and more.tells,
  }
end

local scenarios = {
  save = {
    prepare = function() save_variables("it", 1) end,
    before = function() fill(2) end,
    act = function() checkpoint:save(path "it", { overwrite = true }) end,
    look = function()
      local value = loaded "it"
      return value == 1 and "old" or value == 2 and "new" or value
    end,
  },
  first_save = {
    prepare = function() fill(2) end,
    before = function() fill(2) end,
    act = function() checkpoint:save(path "deeper/it", { overwrite = true }) end,
    look = function()
      local value = loaded "deeper/it"
      return value == "nothing" and "old" or value == 2 and "new" or value
    end,
  },
  manager = {
    prepare = function()
      fill(1)
      flow.train.SimpleCheckPointManager(path "it", { keep = 1 }):save()
    end,
    before = function() fill(2) end,
    act = function() flow.train.SimpleCheckPointManager(path "it", { keep = 1 }):save() end,
    look = function()
      fill(0)
      local ok = pcall(function()
        flow.train.SimpleCheckPointManager(path "it", { keep = 1 }):initialize_or_restore()
      end)
      local value = ok and filled()
      return value == 1 and "old" or value == 2 and "new" or value
    end,
    names = false,             -- each save has a name of its own
  },
  load = {
    prepare = function() save_variables("it", 2) end,
    before = function() fill(1) end,
    act = function() checkpoint:load(path "it", { strict = true }) end,
    look = function()
      local value = filled()
      return value == 1 and "old" or value == 2 and "new" or value
    end,
  },
  oneflow = {
    prepare = function()
      fill(0)
      for name, v in pairs(flow.get_all_variables()) do
        if v.dtype == "float32" then
          os.execute(("mkdir -p '%s'"):format(path("it/" .. name)))
          write("it/" .. name .. "/out", ("\0\0\0\64"):rep(v.size))       -- 2
          local dims = {}
          for i, n in ipairs(v.shape) do dims[i] = ("dim: %d"):format(n) end
          write("it/" .. name .. "/meta", "shape { " .. table.concat(dims, " ")
            .. " } data_type: kFloat")
        end
      end
    end,
    before = function() fill(1) end,
    act = function() checkpoint:load(path "it") end,
    look = function()
      local weight = flow.get_all_variables()["fc-weight"]
      local least, largest = weight:min(), weight:max()
      return least == largest and (least == 1 and "old" or least == 2 and "new") or "a mixture"
    end,
  },
  npy = writes("it", function() nd.save(path "it", nd.arange(1000)) end),
  npz = writes("it", function() nd.save(path "it", { a = nd.arange(500), b = nd.ones { 3 } }) end),
  wav = writes("it.wav", function()
    flow.data.save_sound(path "it.wav", nd.zeros { 2000 }, 8000)
  end),
  tokenizer = writes("it", function()
    flow.text.train({ "low lower lowest" }, { size = 260 }):save(path "it")
  end),
  gguf = writes("it", function() flow.gguf.save(net_of(1), path "it") end),
  onnx = writes("it", function() flow.onnx.export(predictor(), path "it") end),
  -- Its tensors are in a second file, which takes its place before the first one does.
  onnx_outside = {
    prepare = function()
      fill(1)
      flow.onnx.export(predictor(), path "it", { external_data = true })
    end,
    before = function() fill(2) end,
    act = function() flow.onnx.export(predictor(), path "it", { external_data = true }) end,
    look = function()
      local ok, all = pcall(flow.checkpoint.get, path "it")
      local kept = ok and all["fc-weight"]
      if not kept then return tostring(all) end
      local least, largest = kept:min(), kept:max()
      return least == largest and (least == 1 and "old" or least == 2 and "new") or "a mixture"
    end,
    names = false,             -- the second one has two names in turn
  },
  model = {
    prepare = function()
      net_of(1):save(path "it", { overwrite = true })
    end,
    before = function() net_of(2) end,
    act = function() net_of(2):save(path "it", { overwrite = true }) end,
    look = function()
      local ok = pcall(function() return net_of(0):load(path "it") end)
      local first = ok and select(2, next(net_of():variables()))
      local value = ok and first:max()
      return value == 1 and "old" or value == 2 and "new" or tostring(value)
    end,
  },
  png = writes("it.png", function() flow.data.save_image(path "it.png", picture) end),
  plot = writes("it", function() flow.plot({ 3, 2, 1 }, svg) end),
  matrix = writes("it", function() flow.plot_matrix({ { 1, 2 }, { 3, 4 } }, svg) end),
  images = writes("it", function() flow.plot_images(picture, svg) end),
  -- The state of a training, whose second epoch it ends with.
  fit = {
    prepare = function()
      flow.fit(job_of "fitted", DATA, { epochs = 1, directory = path "it", show = false })
    end,
    act = function()
      flow.fit(job_of "fitted", DATA, { epochs = 2, directory = path "it", resume = true,
        show = false })
    end,
    look = function()
      local ok, note = pcall(flow.checkpoint.notes, path "it/last")
      local epoch = ok and text_of "it/last/model.safetensors":match "epoch ([12]) "
      return epoch == "1" and "old" or epoch == "2" and "new" or tostring(note)
    end,
  },
  graph = {
    prepare = function() write("it", "old") fill(1) end,
    act = function() flow.plot_graph(train, svg) end,
    look = function() return text_of "it" end,
  },
  trace = writes("it", function()
    profile.start()
    local _, done, why = profile.finish(path "it")
    if not done then error(why, 0) end
  end),
  -- Records stand one behind the other, each with its sums, so that a reader takes what is whole.
  summary = {
    prepare = function() end,
    before = function() os.execute(("rm -rf '%s'"):format(path "logs")) end,
    act = function()
      local writer = flow.summary.create_summary_writer(path "logs")
      local ok, why = pcall(function()
        for step = 1, 3 do flow.summary.scalar(step, step, "loss") end
        flow.summary.flush_summary_writer(writer)
      end)
      local closed, later = pcall(flow.summary.close, writer)
      if not ok then error(why, 0) end
      if not closed then error(later, 0) end
    end,
    look = function()
      local pipe = io.popen(("cat '%s'/* 2>/dev/null"):format(path "logs"))
      local text = pipe:read "*a"
      pipe:close()
      local at, n = 1, 0
      while at < #text do
        local a, b = text:byte(at, at + 1)
        local size = a + 256 * (b or 0)
        if at + 15 + size > #text then break end
        at, n = at + 16 + size, n + 1
      end
      return n == 4 and "new" or "old"     -- the first tells the version
    end,
    names = false,             -- each has a name of its own
  },
  -- A command of which little is written: what begins the bundle needs no more than its mark.
  bundle = {
    prepare = function()
      write("it", "old")
      write("script", "print 'new'")
      write("runtime", bundle_format.HEAD .. ("0"):rep(bundle_format.DIGITS))
      os.execute(("chmod 600 '%s' && chmod 755 '%s'"):format(path "it", path "runtime"))
    end,
    act = function()
      run(("'%s' --bundle '%s' --runtime '%s' -o '%s'"):format(program, path "script",
        path "runtime", path "it"))
    end,
    look = function()
      local text = text_of "it"
      local rights = os.execute(("test -x '%s'"):format(path "it")) == 0 and "runs" or "does not"
      return text == "old" and rights == "does not" and "old" or text .. rights
    end,
    command = true,
  },
  read_bundle = reads(function()
    write("script", "print(assert(require('jfl.data.archive').read('data')))")
    write("data", "whole")
    if os.execute(("test -e '%s'"):format(bundled)) ~= 0 then
      run(("'%s' --bundle script data -o '%s'"):format(program, bundled))
    end
    os.execute(("cd '%s' && rm script data && cp '%s' it"):format(folder, bundled))
  end, function() return run(quoted(path "it")) end,
    { command = true, tells = { "data", "this program" } }),
  read_npy = reads(function() nd.save(path "it.npy", nd.arange(1000)) end,
    function() return tostring(nd.load(path "it.npy"):sum()) end),
  read_npz = reads(function() nd.save(path "it.npz", { a = nd.arange(1000) }) end,
    function() return tostring(nd.load(path "it.npz").a:sum()) end),
  read_png = reads(function() flow.data.save_image(path "it.png", picture) end,
    function() return tostring(flow.data.load_image(path "it.png"):astype("float32"):sum()) end),
  read_folder = reads(function()
    os.execute(("mkdir -p '%s' '%s'"):format(path "set/a", path "set/b"))
    flow.data.save_image(path "set/a/1.png", picture)
    flow.data.save_image(path "set/b/2.png", picture)
  end, function()
    local sum = 0
    flow.data.close_loop "train"
    local set = flow.data.folder(path "set", { size = 8 })
    for _, _, images, labels in flow.data.batches(set, { batch_size = 2 }) do
      sum = sum + images:astype("float32"):sum() + labels:sum()
    end
    return tostring(sum)
  end),
  read_csv = reads(function() write("it.csv", "a,b\n" .. ("1,2.5\n"):rep(2000)) end,
    function() return tostring(flow.data.csv(path "it.csv").b:sum()) end),
}

-- ---- with faults ----

local scenario = assert(scenarios[what], what)

local function open_files()
  local n = 0
  for fd = 0, 255 do n = n + (C.fcntl(fd, 1) >= 0 and 1 or 0) end      -- F_GETFD
  return n
end

local function names()
  if scenario.names == false then return "" end
  local pipe = io.popen(("cd '%s' && find . | sort"):format(folder))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local function prepare()
  os.execute(("rm -rf '%s' && mkdir '%s'"):format(folder, folder))
  scenario.prepare()
end

local function act()
  return pcall(scenario.act)
end

local function before()
  if scenario.before then scenario.before() end
end

local new, clean               -- what there is after it was done without faults

local function is_new(seen) return seen == "new" or seen == new end

local function quiet(fn)
  local real = io.stderr
  rawset(io, "stderr", { write = function(self) return self end })
  local ok, err = pcall(fn)
  rawset(io, "stderr", real)
  if not ok then error(err, 0) end
end

-- Done again without faults it must go well, and leave nothing behind.
local function expect_clean(say)
  before()
  local ok, err = act()
  if not ok then say("it fails afterwards too: " .. tostring(err)) end
  local seen, left = scenario.look(), names()
  if not is_new(seen) then say("afterwards there is " .. tostring(seen):sub(1, 60)) end
  if left ~= clean then say("names are left over:\n" .. left) end
end

local function names_file(text)
  for _, name in ipairs(scenario.tells or {}) do
    if text:find(name, 1, true) then return true end
  end
  return text:find(folder, 1, true) ~= nil
end

local function check_result(mode, letter, ok, err, say)
  local seen = scenario.look()
  if ok and not is_new(seen) then
    say("it is said to be done, but there is " .. tostring(seen):sub(1, 60))
  elseif not ok and seen ~= "old" and not is_new(seen) then
    say("it failed and left " .. tostring(seen):sub(1, 60))
  end
  if ok then return end
  if not mode.fails then say("it fails: " .. tostring(err)) end
  -- A look at a file that fails is judged by what it would have told.
  local why = letter == "s" and "" or ffi.string(C.strerror(mode.error))
  if type(err) ~= "string" or not names_file(err) or not err:find(why, 1, true) then
    say("the message does not tell the file and what is wrong: " .. tostring(err))
  end
end

local function fault(mode, at)
  if scenario.command then
    planned = ("%d:%d:%d:%s:%s"):format(at, mode.times, mode.error, mode.which or "-", folder)
  else
    C.faults_begin(folder, mode.which or "", at, mode.times, mode.error)
  end
end

-- How many calls there were, and their letters.
local function calls()
  planned = nil
  if scenario.command then return counted.n, ffi.string(counted.log) end
  return C.faults_end(), ffi.string(C.faults_letters())
end

local status = ffi.new "int[1]"

-- Does it in a child that ends at that call; gives whether it came so far.
local function die(mode, at)
  if scenario.command then
    fault(mode, at)
    act()
    return calls() >= at
  end
  local child = C.fork()
  if child == 0 then
    fault(mode, at)
    act()
    C._exit(0)
  end
  assert(C.waitpid(child, status, 0) == child)
  return status[0] % 128 == SIGKILL
end

local function try(mode, at, letter, say)
  prepare()
  before()
  local came
  if mode.error == ENDS then
    came = die(mode, at)
    if not scenario.names then
      local seen = scenario.look()
      if seen ~= "old" and not is_new(seen) then say("there is " .. tostring(seen):sub(1, 60)) end
    end
  else
    local files = open_files()
    fault(mode, at)
    local ok, err = act()
    came = calls() >= at
    collectgarbage()
    collectgarbage()
    if open_files() ~= files then
      say(("%d files stay open"):format(open_files() - files))
    end
    check_result(mode, letter, ok, err, say)
  end
  expect_clean(say)
  return came
end

local bad = 0

local function all(mode)
  prepare()
  before()
  fault({ which = mode.which, times = 0, error = 0 }, 0)
  act()
  local n, letters = calls()
  local step = math.max(1, n / most)
  local tried = 0
  for i = 1, n, step do
    local at = math.floor(i)
    local letter = mode.times == 1 and letters:sub(at, at) or letters:find("s", at, true) and "s"
    local function say(text)
      bad = bad + 1
      if bad < 20 then
        print(("%s: call %d of %d (%s>%s) %s: %s"):format(what, at, n, letters:sub(1, at - 1),
          letters:sub(at), mode.name, text))
      end
    end
    if try(mode, at, letter, say) then tried = tried + 1 end
  end
  return tried
end

quiet(function()
  prepare()
  before()
  assert(act())
  new, clean = scenario.look(), names()
  local tried = 0
  for _, mode in ipairs(MODES) do tried = tried + all(mode) end
  os.execute(("rm -rf '%s' '%s'"):format(folder, bundled))
  print(("%s: %d faults, %d wrong"):format(what, tried, bad))
end)
