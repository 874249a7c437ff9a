local flow = require "jfl"
local core = require "jfl.core"
local helper = require "spec.lua.helper"
local json = require "spec.json"
local profile = require "jfl.tools.profile"

local tp = flow.typing

describe("flow.profile", function()
  it("names a rank that the others wait for", function()
    local function rank(host, computed, waited)
      return { host = host, computed = computed, waited = waited }
    end
    assert.equal("rank 0 (a): computed 100.0 ms, waited for others or for data 110.0 ms\n"
      .. "rank 1 (b): computed 200.0 ms, waited for others or for data 10.0 ms\n"
      .. "rank 1 (b) is slow: the others waited 100.0 ms for it",
      profile.ranks_text { rank("a", 0.1, 0.11), rank("b", 0.2, 0.01) })
    assert.is_nil(profile.ranks_text({ rank("a", 0.1, 0.02), rank("b", 0.1, 0.01) }):find "slow")
  end)

  it("tells how much a step does in a second, and of what the machine can", function()
    local peak, threads = core.machine_peak, core.get("threads")
    finally(function() core.machine_peak = peak end)
    core.machine_peak = function(n)
      assert.equal(threads, n)
      return 1e12, 1e10
    end
    local rows = {
      { op = "conv2d", kernel = "winograd_conv", job = "train", name = "conv_1", runs = 2,
        seconds = 0.3, flop = 3e10, bytes = 7.5e8, device = "cpu:0" },
      { op = "relu", kernel = "vec_relu", job = "train", name = "relu_2", serves = "conv", runs = 1,
        seconds = 0.1, flop = 0, bytes = 2e9, device = "cpu:1" },
      { op = "add", kernel = "vec_add", job = "train", name = "add_3", runs = 0, seconds = 0.1,
        flop = 0, bytes = 0, device = "cpu:1" },
    }
    assert.equal(([[
share    ms/run  runs  GFLOP/s  of peak  GB/s  of peak  op      kernel    step
60.0%%  150.0000     2    200.0      20%%   5.0      50%%  conv2d  winograd  train: conv_1
20.0%%  100.0000     1                    20.0   cached  relu    vec       train: relu_2 for conv
1 more steps
winograd: what is counted is a direct convolution's work; it needs less, so it may pass 100%%
500.0 ms in all steps; %d threads can do 1000 GFLOP/s in registers and copy 10.0 GB/s
on cpu:0: 300.0 ms, 60%%
on cpu:1: 200.0 ms, 40%%]]):format(threads), profile.text(rows, 2))
    assert.falsy(profile.text({ rows[1] }, 2):find("\non ", 1, true))
  end)

  local job

  before_each(function()
    flow.clear_default_session()
    job = helper.predict("product", { 8, 16 }, function(x)
      return flow.matmul(x, flow.get_variable("w",
        { shape = { 16, 4 }, initializer = flow.ones_initializer() }))
    end)
  end)

  after_each(function() flow.clear_default_session() end)

  -- The result of fn, and what it prints.
  local function quietly(fn)
    local lines, print_before = {}, _G.print
    _G.print = function(text) lines[#lines + 1] = text end -- luacheck: ignore
    local ok, result = pcall(fn)
    _G.print = print_before -- luacheck: ignore
    assert(ok, result)
    return result, table.concat(lines, "\n")
  end

  -- #cpu: on other devices there are copies among the steps.
  it("counts the runs and the work of each step #cpu", function()
    local x = flow.ndarray.ones { 8, 16 }
    job(x)
    local rows, text = quietly(function()
      return flow.profile(function() for _ = 1, 3 do job(x) end end)
    end)
    assert.equal(1, #rows)
    assert.equal("matmul", rows[1].op)
    assert.equal(3, rows[1].runs)
    assert.equal(2 * 8 * 16 * 4, rows[1].flop)
    assert.equal(4 * (8 * 16 + 16 * 4 + 8 * 4), rows[1].bytes)
    assert.is_true(rows[1].seconds > 0)
    assert.truthy(text:find("product: matmul_1", 1, true))
  end)

  it("shows names of any length", function()
    local name = ("layer."):rep(30) .. "end"
    local long = helper.predict("long", { 2 }, function(x)
      return flow.math.exp(x, { name = name })
    end)
    local _, text = quietly(function()
      return flow.profile(function() long(flow.ndarray.ones { 2 }) end)
    end)
    assert.truthy(text:find(name, 1, true))
  end)

  it("sees queued runs, too, and gives the same results", function()
    local later = helper.predict("later", { 2 }, function(x) return x * 3 end,
      { returns = tp.Callback(tp.Numpy) })
    local seen
    local rows = quietly(function()
      return flow.profile(function() later({ 1, 2 })(function(y) seen = y:totable() end) end)
    end)
    assert.same({ 3, 6 }, seen)
    assert.is_true(#rows >= 1)
  end)

  local function trace_of(fn)
    local path = os.tmpname()
    quietly(function() return flow.profile(fn, { trace = path }) end)
    local f = assert(io.open(path))
    local text = f:read "*a"
    f:close()
    os.remove(path)
    return json.read(text).traceEvents
  end

  -- The complete events, the names of tracks by number, and the name of the process.
  local function taken_apart(events)
    local steps, tracks, process = {}, {}, nil
    for _, e in ipairs(events) do
      if e.ph == "X" then steps[#steps + 1] = e end
      if e.name == "thread_name" then tracks[e.tid] = e.args.name end
      if e.name == "process_name" then process = e.args.name end
    end
    return steps, tracks, process
  end

  it("writes a trace of every step #cpu", function()
    local steps, tracks, process = taken_apart(trace_of(function()
      for _ = 1, 3 do job(flow.ndarray.ones { 8, 16 }) end
    end))
    assert.equal("jfl", process)
    assert.equal(3, #steps)
    for i, e in ipairs(steps) do
      assert.same({ "matmul_1", "matmul", "product" }, { e.name, e.cat, e.args.job })
      assert.equal("calls", tracks[e.tid])
      assert.same({ 2 * 8 * 16 * 4, 4 * (8 * 16 + 16 * 4 + 8 * 4) }, { e.args.flop, e.args.bytes })
      assert.is_true(e.dur >= 0 and e.args.threads >= 1)
      if i > 1 then assert.is_true(e.ts >= steps[i - 1].ts + steps[i - 1].dur - 0.01) end
    end
  end)

  it("shows in a trace what the worker ran, and names of any kind", function()
    local name = 'a "\\\n\1 name'
    local later = helper.predict(name, { 2 }, function(x) return x * 3 end,
      { returns = tp.Callback(tp.Numpy) })
    core.set("inline_limit", 0)
    local steps, tracks = taken_apart(trace_of(function() later({ 1, 2 })(function() end) end))
    assert.equal("worker", tracks[steps[1].tid])
    assert.equal('a "\\<000a><0001> name', steps[1].args.job)
  end)

  -- A training step of a dense layer and a convolution wide enough for Winograd's.
  local function train()
    local step = flow.global_function {
      name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { 2, 32, 16, 16 } } },
      body = function(x)
        x = flow.layers.conv2d(x, 32, 3, { padding = "SAME", name = "conv" })
        local y = flow.layers.dense(flow.flatten(x, 1), 4, { name = "out" })
        local loss = flow.math.reduce_sum(y)
        flow.optimizer.SGD(0.1, { momentum = 0 }):minimize(loss)
        return loss
      end,
    }
    step(flow.ndarray.rand { 2, 32, 16, 16 })
  end

  it("tells which of the user's nodes a step serves, in rows, text and trace", function()
    local of = {}
    local rows, text = quietly(function() return flow.profile(train) end)
    for _, row in ipairs(rows) do of[row.op] = row.serves or row.name end
    assert.equal("conv", of.conv2d_filter_grad)
    assert.equal("out-matmul", of.matmul_update or of.matmul)
    assert.truthy(text:find("train: conv2d_filter_grad_1 for conv\n", 1, true), text)
    local named
    flow.clear_default_session()
    for _, e in ipairs((taken_apart(trace_of(train)))) do
      if e.cat == "conv2d_filter_grad" then named = e.args.serves end
    end
    assert.equal("conv", named)
  end)

  -- The text of rows on a machine of 2 threads with these peaks, one blank between its cells.
  local function text_of(rows, most, flop_peak, byte_peak)
    local peak, get = core.machine_peak, core.get
    core.machine_peak = function() return flop_peak, byte_peak end
    core.get = function(name) return name == "threads" and 2 or get(name) end
    local ok, text = pcall(profile.text, rows, most)
    core.machine_peak, core.get = peak, get
    assert(ok, text)
    local lines = {}
    for line in text:gmatch("[^\n]+") do
      lines[#lines + 1] = line:gsub(" +", " "):match("^ ?(.*)$")
    end
    return lines
  end

  it("prints the numbers that follow from the rows", function()
    local function row(fields)
      local r = { job = "j", op = "add", name = "n", kernel = "plain", device = "cpu:0",
        runs = 1, flop = 0, bytes = 0 }
      for key, value in pairs(fields) do r[key] = value end
      return r
    end
    local rows = {
      row { op = "matmul", name = "m", serves = "d", kernel = "dnnl_matmul", seconds = 0.6,
        runs = 3, flop = 2e9, bytes = 1e9 },
      row { device = "gpu:0", seconds = 0.3, bytes = 4e9 },
      row { name = "o", seconds = 0.0874, runs = 2, flop = 1e6 },
      row { name = "p", seconds = 0.0126, runs = 5, bytes = 2e7 },
    }
    local head = "share ms/run runs GFLOP/s of peak GB/s of peak op kernel step"
    local lines = { head, "60.0% 200.0000 3 10.0 25% 5.0 50% matmul dnnl j: m for d",
      "30.0% 300.0000 1 13.3 cached add plain j: n", "8.7% 43.7000 2 0.0 0% add plain j: o",
      "1.3% 2.5200 5 7.9 79% add plain j: p",
      "1000.0 ms in all steps; 2 threads can do 40 GFLOP/s in registers and copy 10.0 GB/s",
      "on cpu:0: 700.0 ms, 70%", "on gpu:0: 300.0 ms, 30%" }
    assert.same(lines, text_of(rows, 30, 40e9, 10e9))
    assert.same(lines, text_of(rows, 4, 40e9, 10e9))
    assert.same({ head, lines[2], lines[3], "2 more steps", lines[6], lines[7], lines[8] },
      text_of(rows, 2, 40e9, 10e9))
    assert.same({ head, "100.0% 200.0000 3 10.0 100% 5.0 100% matmul dnnl j: m for d",
      "600.0 ms in all steps; 2 threads can do 10 GFLOP/s in registers and copy 5.0 GB/s" },
      text_of({ rows[1] }, 30, 10e9, 5e9))
  end)

  it("says how long all others waited for a slow rank, in the mean", function()
    local function rank(computed, waited)
      return { host = "h", computed = computed, waited = waited }
    end
    local function last(...) return profile.ranks_text({ ... }):match("[^\n]*$") end
    assert.equal("rank 2 (h) is slow: the others waited 250.0 ms for it",
      last(rank(0.1, 0.3), rank(0.1, 0.25), rank(0.3, 0.05), rank(0.1, 0.35)))
    -- The others wait 0.15 of their time for it, or a little more.
    assert.is_nil(last(rank(0.85, 0.15), rank(1, 0)):find "slow")
    assert.equal("rank 1 (h) is slow: the others waited 160.0 ms for it",
      last(rank(0.84, 0.16), rank(1, 0)))
  end)

  it("says what winograd's work is counted as", function()
    local row = { job = "j", op = "conv2d", name = "c", kernel = "winograd_conv2d", seconds = 1,
      runs = 1, flop = 1, bytes = 1 }
    assert.truthy(profile.text({ row }, 1):find("winograd  j: c\nwinograd: what is counted", 1,
      true))
    row.kernel = "dnnl_conv"
    assert.is_nil(profile.text({ row }, 1):find("winograd", 1, true))
  end)

  it("writes a trace without steps where nothing ran", function()
    assert.equal(0, #taken_apart(trace_of(function() end)))
  end)

  it("goes on where the session is cleared", function()
    local rows = quietly(function()
      return flow.profile(function()
        job(flow.ndarray.ones { 8, 16 })
        flow.clear_default_session()
        helper.predict("next", { 2 }, function(x) return x * 3 end)({ 1, 2 })
      end)
    end)
    local jobs = {}
    for _, row in ipairs(rows) do jobs[row.job] = true end
    assert.same({ product = true, next = true }, jobs)
  end)

  it("ends with the function's error, and another can begin", function()
    helper.fails(function() flow.profile(function() error("mine") end) end, "mine")
    quietly(function() return flow.profile(function() job(flow.ndarray.ones { 8, 16 }) end) end)
  end)

  it("refuses a file it cannot write before the work, and is over then", function()
    local ran
    helper.fails(function() flow.profile(function() ran = true end,
      { trace = "/nowhere/trace.json" })
    end, "profile: cannot write /nowhere/trace.json: No such file or directory")
    assert.is_nil(ran)
    quietly(function() return flow.profile(function() job(flow.ndarray.ones { 8, 16 }) end) end)
  end)

  it("refuses what it cannot run", function()
    helper.fails(function() flow.profile(3) end, "profile: fn must be a function, got number 3")
    helper.fails(function() flow.profile(print, { trace = 3 }) end,
      "profile: trace must be a string, got number 3")
    helper.fails(function() flow.profile(print, { rows = 0 }) end,
      "profile: rows must be a whole number of at least 1, got number 0")
  end)

  it("cannot be nested", function()
    helper.fails(function() flow.profile(function() profile.start() end) end, "being made already")
  end)

  it("says so where nothing ran", function()
    local _, text = quietly(function() return flow.profile(function() end) end)
    assert.equal("profile: no job ran", text)
  end)
end)
