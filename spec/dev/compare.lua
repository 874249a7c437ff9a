--- Ops on the emulated GPU of spec/cuda beside the CPU's plain kernels.
local emulated = require "spec.dev.emulated"

-- Calls ops on both devices and prints what differs.
local COMPARES = [[
  local core = require "jfl.core"
  local flow = require "jfl"
  local support = require "spec.op.support"

  -- Puts what is no number where an op will have its inputs and results, so many bytes at least:
  -- memory of devices begins as zeros, which many a result is.
  local function spoil(bytes)
    local some = core.array("int8", { bytes + 65536 })
    core.fill(some, -1)
    core.op("slice")(some, { begin = { 0 }, size = { 1 } })
  end

  local function bytes_of(...)
    local n = 0
    for _, list in ipairs { ... } do
      for _, a in ipairs(list) do n = n + (core.type(a) == "array" and #core.bytes(a) or 8) end
    end
    return n
  end

  local function on(device, op, case, inputs, bytes)
    flow.clear_default_session()
    core.set("device", device)
    core.set("kernels", device == "cpu" and "reference" or "fast")
    core.set("seed", 7)
    if bytes then spoil(bytes) end
    return { support.call(core.ops()[op], case, inputs) }
  end

  local function shapes(given)
    local list = {}
    for i, g in ipairs(given) do list[i] = table.concat(g[1] or {}, " x ") end
    return table.concat(list, ", ", 1, math.min(#list, 4))
  end

  local function inputs_of(given)
    local inputs = {}
    for i, g in ipairs(given) do
      inputs[i] = g.data and core.from_table(g.data, g[2])
        or support.filled(g[2] or "float32", g[1], g[3] or -2, g[4] or 2.3)
    end
    return inputs
  end

  -- An input is the shape, the dtype and the least and largest number of what it holds; or `data`
  -- and the dtype. Numbers may differ by tol, relative above 1.
  function compare(op, given, options, tol)
    local inputs, case = inputs_of(given), { options = options }
    local want = on("cpu", op, case, inputs)
    local got = on("gpu", op, case, inputs, 2 * bytes_of(inputs, want))
    for i, y in ipairs(want) do
      local same = core.type(y) == "array" and core.bytes(y) == core.bytes(got[i])
      local ok, message = same
      if not same then
        ok, message = support.close(support.flat(got[i]), support.flat(y), tol or 2e-6)
      end
      if not ok then print(("%s of %s, result %d: %s"):format(op, shapes(given), i, message)) end
    end
  end

  -- Both devices must refuse the call by the same message, which has some text in it.
  function refuse(text, op, given, options)
    local said = {}
    for i, device in ipairs { "cpu", "gpu" } do
      said[i] = tostring(select(2, pcall(function()
        for _, y in ipairs(on(device, op, { options = options }, inputs_of(given))) do
          core.bytes(y)
        end
      end)))
    end
    if said[1] ~= said[2] or not said[1]:find(text, 1, true) then print(op, unpack(said)) end
  end
]]

--- Fails if a script prints anything, which calls compare(op, inputs, options, tol) and
--- refuse(text, op, inputs, options); `variables` are those of its environment.
return function(script, variables)
  local out, status = emulated.run(variables or {}, COMPARES .. script)
  if out ~= "" or status ~= 0 then error(("status %s: %s"):format(status, out), 0) end
end
