require "jfl"                    -- its modules are found from here on
local forecast = require "jfl.tools.forecast"
local helper = require "spec.lua.helper"

--- Steps of a device whose memory is never what takes the time.
local function step(seconds, fields)
  local s = { seconds = seconds, flop = 1, bytes = 0, still = 0, gradient = 0, updates = false }
  for name, value in pairs(fields or {}) do s[name] = value end
  return s
end

local function options(text)
  local o = forecast.read(text)
  o.cores, o.threads = 8, 1
  return o
end

local function near(want, got) assert.is_true(math.abs(want - got) <= 1e-9 * want, got) end

describe("the forecast for several devices", function()
  it("counts what goes round a ring within a host and between hosts", function()
    local o = options("4x8,link=100,network=10,reach=1,delay=3")
    near(2 * 7 / 8 * 0.01 + 14e-6, forecast.sum_seconds(1e9, 1, 8, o))
    near(2 * 3 / 4 * 0.1 + 12e-6, forecast.sum_seconds(1e9, 4, 1, o))
    near(2 * 7 / 8 * 0.01 + 14e-6 + 2 * 3 / 4 * 0.0125 + 12e-6, forecast.sum_seconds(1e9, 4, 8, o))
    assert.equal(0, forecast.sum_seconds(1e9, 1, 1, o))
  end)

  it("hides messages behind the work that is left, and then waits", function()
    local o = options("1x2,link=1,reach=1,delay=1e-9,bucket=1")
    local steps = { step(1), step(1, { gradient = 1e9 }), step(0.25, { gradient = 1e9 }),
      step(0.5, { updates = true }) }
    local s = forecast.step(steps, 1, 2, o)
    -- Each gigabyte takes a second; the second one begins when the first has come, at 3 s.
    near(2.75, s.work)
    near(1.75, s.waits)
    near(4.5, s.seconds)
    near(2, s.messages)
    assert.same({ 2.75, 0 }, { forecast.step(steps, 1, 1, o).seconds,
      forecast.step(steps, 1, 1, o).waits })
  end)

  it("has processes of one machine share its cores, which also send", function()
    local o = options("1x4,link=1,reach=1,delay=1e-9")
    o.cores = 2
    local steps = { step(1, { gradient = 1e9 }), step(3) }
    local s = forecast.step(steps, 1, 4, o)
    near(8, s.work)
    near(2 * 1.5, s.waits)
    near(11, s.seconds)
    near(4, forecast.step(steps, 1, 1, o).seconds)
  end)

  it("divides the batch where all devices share one, not what updates variables", function()
    local o = options("1x4,batch=whole")
    near(1.5, forecast.step({ step(4), step(0.5, { updates = true }) }, 1, 4, o).work)
  end)

  it("takes the slower of arithmetic and memory for a device of its list", function()
    local o = options("1x1,device=h200,precision=bfloat16")
    local products = { step(0, { flop = 0.6 * 989e12, bytes = 1 }) }
    local streams = { step(0, { flop = 1, bytes = 0.8 * 4.8e12 }) }
    near(1 + 2.5e-6, forecast.step(products, 1, 1, o).work)
    near(1 + 2.5e-6, forecast.step(streams, 1, 1, o).work)
  end)

  it("gives the least time on a device, which is that of its arithmetic or its memory", function()
    local seconds, best = forecast.least_seconds({ flop = 130e12, bytes = 1 }, "t4", "bfloat16")
    near(2, seconds)
    assert.equal(65e12, best)
    near(3, (forecast.least_seconds({ flop = 1, bytes = 3 * 1.008e12 }, "rtx4090", "float32")))
  end)

  it("knows what each device of its list does at best, and sends to others", function()
    local BEST = {                       -- by the makers' data sheets; GB/s that are sent, last
      t4 = { 8.1e12, 8.1e12, 65e12, 0.32e12, 16 },
      a100 = { 19.5e12, 156e12, 312e12, 2.039e12, 300 },
      h100 = { 67e12, 494e12, 989e12, 3.35e12, 450 },
      h200 = { 67e12, 494e12, 989e12, 4.8e12, 450 },
      rtx4090 = { 82.6e12, 82.6e12, 165.2e12, 1.008e12, 32 },
    }
    for device, best in pairs(BEST) do
      for i, precision in ipairs { "float32", "tf32", "bfloat16" } do
        assert.equal(best[i], select(2, forecast.least_seconds({ flop = 1, bytes = 0 }, device,
          precision)))
      end
      near(1 / best[4], (forecast.least_seconds({ flop = 0, bytes = 1 }, device, "tf32")))
      assert.equal(best[5], forecast.read("1x1,device=" .. device).link)
      assert.equal(7, forecast.read("1x1,link=7,device=" .. device).link)
    end
    assert.equal(1.9, forecast.read("1x1").link)
  end)

  -- The rows of the table for what is asked: the devices, then its numbers as texts.
  local function rows_of(found, o)
    local rows = {}
    for line in forecast.text(found, o):gmatch("[^\n]+") do
      local row = {}
      for word in line:gmatch("%S+") do row[#row + 1] = word end
      rows[#rows + 1] = row
    end
    return rows
  end

  it("tells of one device, then of twice as many each time, up to all", function()
    local found = { steps = { step(1, { gradient = 1e6 }) }, batch = 1, variables = 0,
      temporaries = 0, gradients = 1e6 }
    local function devices(text)
      local list = {}
      for i, row in ipairs(rows_of(found, options(text))) do list[i] = row[1] end
      return table.concat(list, " ", 2)
    end
    assert.equal("1x1", devices "1x1")
    assert.equal("1x1 1x2", devices "1x2")
    assert.equal("1x1 1x2 1x3", devices "1x3")
    assert.equal("1x1 1x2 1x4 2x4 4x4 5x4", devices "5x4")
    assert.equal("1x1 2x1 4x1", devices "4x1")
  end)

  it("tells the numbers that follow from the time of a step", function()
    local found = { steps = { step(0.01, { gradient = 3e7 }), step(0.03, { gradient = 1e7 }),
      step(0.002, { updates = true }) }, batch = 16, variables = 9e7, temporaries = 2.4e7,
      gradients = 4e7 }
    for _, batch in ipairs { "each", "whole" } do
      local o = options("2x2,link=20,network=2,batch=" .. batch)
      local rows, one = rows_of(found, o), forecast.step(found.steps, 1, 1, o)
      assert.equal(4, #rows)
      for i, size in ipairs { { 1, 1 }, { 1, 2 }, { 2, 2 } } do
        local n, s = size[1] * size[2], forecast.step(found.steps, size[1], size[2], o)
        local whole = batch == "whole"
        local memory = 9e7 + 2.4e7 / (whole and n or 1) + (n > 1 and 2.5e7 or 0)
        assert.same({ ("%dx%d"):format(size[1], size[2]), ("%.2f"):format(1e3 * s.seconds),
          ("%.2f"):format(1e3 * s.work), ("%.2f"):format(1e3 * s.messages),
          ("%.1f%%"):format(100 * (s.seconds - s.work) / s.seconds),
          ("%.1f"):format((whole and 16 or 16 * n) / s.seconds),
          ("%.0f%%"):format(100 * one.seconds / s.seconds / (whole and n or 1)),
          ("%.1f"):format(memory / 1e6) }, rows[i + 1])
      end
      found.gradients = 4e7
    end
    found.gradients, found.steps[1].gradient = 1e7, 0
    assert.equal(("%.1f"):format(9e1 + 2.4e1 + 1e1), rows_of(found, options "1x2")[3][8])
  end)

  it("has a row for each size, as its parts have it", function()
    local found = { steps = { step(0.75), step(0.25, { gradient = 2e8 }),
      step(0.1, { updates = true }) }, batch = 16, variables = 4e6, temporaries = 12e6,
      gradients = 2e8 }
    assert.equal([[
   devices   ms/step   work ms  sums ms   waiting   samples/s  efficiency   MB each
       1x1   1100.00   1100.00     0.00      0.0%        14.5        100%      16.0
       1x2   1300.00   1100.00   200.00     15.4%        24.6         85%     116.0
       2x2   1400.00   1100.00   300.00     21.4%        45.7         79%     116.0]],
      forecast.text(found, options("2x2,link=1,network=1,reach=1,delay=1e-9,bucket=100")))
    assert.equal([[
   devices   ms/step   work ms  sums ms   waiting   samples/s  efficiency   MB each
       1x1   1100.00   1100.00     0.00      0.0%        14.5        100%      16.0
       1x2    800.00    600.00   200.00     25.0%        20.0         69%     110.0]],
      forecast.text(found, options("1x2,link=1,reach=1,delay=1e-9,bucket=100,batch=whole")))
  end)

  it("says what it cannot read", function()
    helper.fails(function() forecast.read("4") end, "as in 4x8, got \"4\"")
    helper.fails(function() forecast.read("0x8") end, "as in 4x8")
    helper.fails(function() forecast.read("1x1,speed=3") end, "got \"speed=3\"")
    helper.fails(function() forecast.read("1x1,device=abacus") end,
      "a100, h100, h200, here, rtx4090, t4")
    helper.fails(function() forecast.read("1x1,link=-1") end, "link must be a number above 0")
  end)
end)
