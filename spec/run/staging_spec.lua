--- Runs that a device is given as a whole, and ahead of the end of the one before: they give what
-- the CPU gives, call by call, also where some fail. With JFL_SPEC_DEVICE=gpu the device is a GPU.
local core = require "jfl.core"
local ffi = require "ffi"
local flow = require "jfl"
local jobs = require "spec.jobs"

local tp = flow.typing
local KIND = os.getenv "JFL_SPEC_DEVICE" or "sim"
local NUMBERS = "%.4f"
local LARGE = 9 * 600                -- columns of inputs that go ahead of the run before

ffi.cdef "int setenv(const char *, const char *, int); int unsetenv(const char *);"

local function session(device)
  flow.clear_default_session()
  core.set("device", device)
  core.set("inline_limit", 0)
  core.set("tf32", 0)
  flow.random.seed(5)
end

local function trainer(name, columns)
  return jobs.trainer(name, 4, tp.Callback(tp.Numpy), columns)
end

--- The sum of four numbers, computed here, as ops would wait for all runs.
local function sum(loss) return loss[1] + loss[2] + loss[3] + loss[4] end

--- Calls two jobs by turns, without waiting; every `bad`th has a label that is not there. Gives
-- what each call gave, in order, as text.
local function train(device, calls, bad, columns)
  session(device)
  local a, b, lines = trainer("a", columns), trainer("b", columns), {}
  local inputs = {}
  for i = 1, 4 do inputs[i] = flow.ndarray.rand({ 4, columns or 9 }) end
  for i = 1, calls do
    local label = { i % 3, 1, i % bad == 0 and 7 or 2, 0 }
    local job = i % 5 == 0 and b or a
    job(inputs[1 + i % 4], label)(function(loss)
      lines[#lines + 1] = ("%d " .. NUMBERS):format(i, sum(loss))
    end, function(message) lines[#lines + 1] = message:match("[^\n]*") end)
    if i % bad == 0 then flow.sync() end
  end
  flow.sync()
  return table.concat(lines, "\n")
end

--- What some calls of a job give whose results are everything that they can be; `fixed`: a constant
-- and an input, too, which the host has already.
local function results(device, fixed)
  session(device)
  local table_of = flow.ndarray.rand({ 6, 2 })
  local job = flow.global_function {
    name = "job", type = "predict",
    returns = tp.Tuple(tp.Numpy, tp.Numpy, tp.Numpy, tp.Numpy, tp.Numpy, tp.Numpy),
    inputs = { { "x", tp.Numpy.Placeholder({ 6, 2 }) }, { "y", tp.Numpy.Placeholder({ 2 }) } },
    body = function(x, y)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      local twice = flow.math.tanh(x * w) + flow.constant(table_of)
      if not fixed then x = x * 1 end
      return x, twice, flow.reshape(twice, { 12 }), w, y * 2, fixed and flow.constant(table_of) or w
    end,
  }
  local lines = {}
  for i = 1, 4 do
    local x = flow.ndarray.zeros({ 6, 2 }) + i
    for _, r in ipairs { job(x, { i, 2 * i }) } do
      lines[#lines + 1] = NUMBERS:format(r:sum())
    end
    if i == 2 then flow.load_variables({ w = flow.ndarray.zeros({ 2 }) + 3 }) end
  end
  return table.concat(lines, " ")
end

describe("runs through lanes", function()
  teardown(flow.clear_default_session)

  for _, columns in ipairs { false, LARGE } do
    local what = columns and "inputs that go ahead" or "small inputs"
    it("give what they give one by one, with " .. what, function()
      assert.equal(train("cpu", 60, 1000, columns), train(KIND, 60, 1000, columns))
    end)

    it("fail one by one, and the next is as if there had been none, with " .. what, function()
      local want = train("cpu", 60, 7, columns)
      assert.matches("label at position 2 must be from 0 to 2, got 7", want)
      assert.equal(want, train(KIND, 60, 7, columns))
    end)

    it("are as many as there are lanes, one fewer or more, and any of them may fail, with " .. what,
      function()
        for calls = 1, 5 do
          for bad = 1, calls + 1 do
            assert.equal(train("cpu", calls, bad, columns), train(KIND, calls, bad, columns))
          end
        end
      end)
  end

  it("end with their session, in whatever lane they are, and the next has all of the device",
    function()
      local want = train("cpu", 4, 1000, LARGE)
      for calls = 1, 5 do
        session(KIND)
        local job = trainer("job", LARGE)
        for i = 1, calls do
          job(flow.ndarray.rand({ 4, LARGE }), { i % 3, 1, 2, 0 })(function() end, function() end)
        end
        flow.clear_default_session()
        assert.equal(want, train(KIND, 4, 1000, LARGE))
      end
    end)

  it("take the bits of a run from its number, though another failed before it was known", function()
    session(KIND)
    local job, seen = trainer "job", {}
    local x = flow.ndarray.rand({ 4, 9 })
    for i = 1, 40 do
      job(x, { 0, 1, i % 3 == 0 and 7 or 2, 0 })(function(loss) seen[#seen + 1] = sum(loss) end,
        function() end)
    end
    flow.sync()
    table.sort(seen)
    assert.truthy(#seen >= 13)
    for i = 2, #seen do assert.truthy(seen[i] > seen[i - 1]) end
  end)

  it("give results that are inputs, variables, constants and each other", function()
    assert.equal(results("cpu", true), results(KIND, true))
    assert.equal(results("cpu", false), results(KIND, false))
  end)

  it("leave memory for calls of single ops, whatever sizes these have", function()
    session(KIND)
    for _, n in ipairs { 1, 10, 30000, 1000000, 5, 3000000 } do
      assert.equal(2 * n, (flow.ndarray.ones { n } + 1):sum())
    end
  end)

  if KIND == "sim" then
    it("fail in the one call in which the device breaks", function()
      for _, step in ipairs { 40, 77, 90, 91, 92, 93 } do
        ffi.C.setenv("JFL_SIM_FAULT", tostring(step), 1)
        local said = train(KIND, 30, 1000, step % 2 == 0 and LARGE)
        ffi.C.unsetenv("JFL_SIM_FAULT")
        assert.matches("sim:0 is broken", said)
        assert.equal(29, select(2, ("\n" .. said):gsub("\n%d+ ", "")))
      end
    end)
  end
end)
