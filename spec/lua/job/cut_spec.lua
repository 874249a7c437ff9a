-- Errors that come from outside, at any instruction, as Ctrl-C in a stock LuaJIT does: no call is
-- lost, none is delivered twice, and the session goes on.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local tp = flow.typing

-- An action is cut at every so many instructions at most, at its begin more often, and at each one
-- where JFL_CUTS is set.
local STRIDE = os.getenv "JFL_CUTS" and 1 or 40

-- What is raised; the second is how a stock LuaJIT stops a program.
local CUTS = { "cut here", "file.lua:1: interrupted!" }
local CUT = CUTS[1]

-- How often a callback or handler was cut itself, and says so.
local own = 0

local function take_error(err)
  assert(tostring(err):find(CUT, 1, true), err)
  if err:find("error in ", 1, true) or CUT == CUTS[2] then own = own + 1 end
end

-- Runs fn and raises an error at its k-th instruction; gives whether it came so far.
local function cut_at(k, fn)
  local came = false
  local ok, err = pcall(function()
    debug.sethook(function()
      if came then return end
      came = true
      debug.sethook()
      error(CUT, 0)
    end, "", k)
    fn()
    debug.sethook()
  end)
  debug.sethook()
  if not ok then take_error(err) end
  return came
end

describe("an error at any instruction", function()
  local later, watched, seen, made, directory

  -- Calls a job and registers a callback; what was registered is due once.
  local function call(job, x)
    local registrar = job({ x })
    local number = #made + 1
    made[number] = false
    registrar(function(value)
      made[number] = (made[number] or 0) + 1
      seen[#seen + 1] = value[1]
    end)
    made[number] = 0
  end

  local function define()
    flow.clear_default_session()
    flow.config.on_warning(function() end)      -- of jobs whose bodies were cut
    later = helper.predict("later", { 1 }, function(x) return x * 2 end,
      { returns = tp.Callback(tp.Numpy) })
    watched = helper.train("watched", { returns = tp.Callback(tp.Numpy), body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      flow.watch(w, function() seen.watched = (seen.watched or 0) + 1 end)
      local loss = x * w
      flow.watch_diff(w, function() seen.watched = (seen.watched or 0) + 1 end)
      flow.optimizer.SGD(0.5, { momentum = 0 }):minimize(loss)
      return loss
    end })
    seen, made = {}, {}
  end

  before_each(function()
    directory = helper.directory()
    jit.off()
    jit.flush()
  end)

  after_each(function()
    CUT = CUTS[1]
    debug.sethook()
    jit.on()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  -- Everything that is due runs; errors that come meanwhile are those of cut callbacks.
  local function drain()
    for _ = 1, 100 do
      local ok, err = pcall(flow.sync)
      if ok then return end
      take_error(err)
    end
    error("sync fails without end")
  end

  local number = 0
  local function goes_on()
    number = number + 1
    local got
    assert.equal(6, helper.predict("next" .. number, { 1 }, function(x) return x + 1 end)({ 5 })[1])
    helper.predict("async" .. number, { 1 }, function(x) return x * 2 end,
      { returns = tp.Callback(tp.Numpy) })({ 4 })(function(value) got = value[1] end)
    helper.train("train" .. number)({ 1, 1 })
    drain()
    assert.equal(8, got)
    flow.train.CheckPoint():save(directory .. "/goes_on", { overwrite = true })
    flow.train.CheckPoint():load(directory .. "/goes_on")
  end

  -- Cuts action at every k-th instruction, in a session that `before` prepares. What was registered
  -- before runs once, and what the action registers at most once: it may have been cut before.
  -- after: what the user does next, before what is due.
  local function cut_everywhere(before, action, after)
    local k, reached, n = 1, true, 0
    while reached do
      define()
      before()
      local registered = #made
      own = 0
      reached = cut_at(k, action)
      if after then after() end
      flow.config.on_warning(function() end)
      drain()
      for i = 1, #made do
        local runs = made[i]
        if runs == 0 then runs, own = 1, own - 1 end
        assert(runs == 1 or (i > registered and not runs), ("cut at %d: callback %d of %d ran %s "
          .. "times"):format(k, i, registered, tostring(runs)))
      end
      assert(own >= 0, ("cut at %d: %d callbacks were lost"):format(k, -own))
      goes_on()
      k, n = k + math.random(math.min(STRIDE, 4 * n + 1)), n + 1
    end
    assert(n > 3, "nothing was cut")
  end

  local function three_calls()
    for i = 1, 3 do call(later, i) end
  end

  it("of a call and its registration", function()
    cut_everywhere(three_calls, function() call(later, 7) end)
  end)

  it("of a first call, which traces and compiles", function()
    cut_everywhere(function() end, function() watched({ 1, 2 }) end)
  end)

  it("of a synchronous call with handlers", function()
    local job
    cut_everywhere(function()
      job = helper.predict("shown", { 1 }, function(x)
        flow.watch(x, function() seen.first = true end)
        flow.watch(x, function() seen.second = true end)
        return x
      end)
      job({ 1 })
      three_calls()
    end, function() job({ 2 }) end)
  end)

  it("of entries that leave callbacks to others", function()
    local job
    local function before()
      job = helper.predict("shown", { 1 }, function(x)
        flow.watch(x, function() end)
        return x
      end)
      job({ 1 })
      flow.config.callback_seconds(1e-9)
      three_calls()
    end
    cut_everywhere(before, function() job({ 2 }) end)
    cut_everywhere(before, function() call(later, 7) end)
    cut_everywhere(before, flow.poll)
    cut_everywhere(before, flow.get_all_variables)
  end)

  it("of a body, in a scope and with random arrays", function()
    cut_everywhere(three_calls, function()
      helper.predict("scopes", { 2 }, function(x)
        flow.ndarray.rand({ 2 })
        return flow.scope.placement("cpu", "0:0", function()
          return flow.scope.namespace("inner", function() return flow.nn.relu(x) end)
        end)
      end)({ 1, 2 })
    end)
  end)

  it("of saving", function()
    cut_everywhere(three_calls, function()
      flow.train.CheckPoint():save(directory .. "/cut", { overwrite = true })
    end)
  end)

  it("of loading", function()
    cut_everywhere(function()
      watched({ 1, 2 })
      flow.train.CheckPoint():save(directory .. "/load", { overwrite = true })
      three_calls()
    end, function() flow.train.CheckPoint():load(directory .. "/load") end)
  end)

  it("of clearing the session", function()
    cut_everywhere(three_calls, flow.clear_default_session, flow.clear_default_session)
  end)

  it("of a poll", function() cut_everywhere(three_calls, flow.poll) end)
  it("of a sync", function() cut_everywhere(three_calls, flow.sync) end)

  it("that stops the program", function()
    CUT = CUTS[2]
    cut_everywhere(three_calls, function() call(later, 7) end)
    cut_everywhere(three_calls, flow.sync)
    cut_everywhere(three_calls, function()
      flow.train.CheckPoint():save(directory .. "/cut", { overwrite = true })
    end)
  end)

  it("of the end by os.exit", function()
    local script = [[
      local flow, k = require "jfl", %d
      local job = flow.global_function { name = "job",
        returns = flow.typing.Callback(flow.typing.Numpy),
        inputs = { { "x", flow.typing.Numpy.Placeholder({ 1 }) } },
        body = function(x) return x end }
      job({ 0 })
      flow.sync()
      local ran, calls = {}, {}
      for i = 1, 3 do calls[i] = job({ i }) end
      for i = 1, 3 do calls[i](function() ran[i] = (ran[i] or 0) + 1 end) end
      end_of = newproxy(true)               -- not collected before the state is closed
      getmetatable(end_of).__gc = function() io.stdout:write(table.concat(ran, " "), "\n") end
      jit.off()
      debug.sethook(function() debug.sethook() error("cut", 0) end, "", k)
      os.exit(0, true)]]
    for k = 1, STRIDE == 1 and 150 or 60, STRIDE == 1 and 1 or 9 do
      local out = helper.script(script:format(k))
      assert(out:find("1 1 1\n", 1, true) or out:find("error in a callback: cut", 1, true),
        ("cut at %d: %s"):format(k, out))
    end
  end)
end)
