-- Ranges of what products and convolutions read beside their weights, and weights as int8.
local args = require "jfl.base.args"
local call = require "jfl.op.call"
local core = require "jfl.core"
local job = require "jfl.job.job"
local trace = require "jfl.job.trace"
local typing = require "jfl.job.typing"
local variable = require "jfl.net.variable"

local op = call.op

local calibrate = {}

-- Adds the least and the greatest number of x to a list of blobs (1).
local function add_range(list, x)
  local axis = {}
  for i = 1, #x.shape do axis[i] = i - 1 end
  for _, reduce in ipairs { "reduce_min", "reduce_max" } do
    list[#list + 1] = op.reshape(op[reduce](x, { axis = axis }), { shape = { 1 } })
  end
end

-- A job like the given one, which gives the least and the greatest number of what its products read
-- beside these variables. `found` becomes the variables' names, one for each two numbers.
local function watching(self, names, found)
  local inputs = {}
  for i, input in ipairs(self._inputs) do inputs[i] = { input.name, input.type } end
  return job.global_function { name = self.name .. "-calibration", inputs = inputs,
    returns = typing.Numpy, body = function(...)
      self._body(...)
      local context, list = trace.current, {}
      for i = #found, 1, -1 do found[i] = nil end
      for _, name in ipairs(names) do
        local v = context.variables[name]
        if v then
          for x in variable.product_inputs(context.graph, v) do
            add_range(list, x)
            found[#found + 1] = name
          end
        end
      end
      if #list == 0 then
        core.fail("quantization.quantize: job '%s' has no product nor convolution of %s", self.name,
          table.concat(names, ", "))
      end
      return op.concat(list, { axis = 0 })
    end }
end

-- Widens a range by the results of a run.
local function widen(ranges, found, result)
  local list = core.to_table(result)
  for i, name in ipairs(found) do
    local r = ranges[name] or { least = math.huge, most = -math.huge }
    for _, x in ipairs { list[2 * i - 1], list[2 * i] } do
      if x ~= x or math.abs(x) == math.huge then
        core.fail("quantization.quantize: what is multiplied by '%s' has %s in it for a batch of "
          .. "the calibration", name, x ~= x and "nan" or "an infinite number")
      end
      r.least, r.most = math.min(r.least, x), math.max(r.most, x)
    end
    ranges[name] = r
  end
end

-- Calls use(...) with the arguments of each batch; returns how many there were.
local function each_batch(who, batches, use)
  local n = 0
  if type(batches) == "function" then
    local function go_on(...)
      if (...) == nil then return false end
      use(...)
      return true
    end
    while go_on(batches()) do n = n + 1 end
    return n
  end
  for _, batch in ipairs(args.expect(who, "batches", batches, "table")) do
    if core.type(batch) == "array" then use(batch) else use(unpack(batch)) end
    n = n + 1
  end
  return n
end

--- The ranges { least, most } of what a predict job's products read beside these variables, by
-- name: over batches, a list or a function that gives the arguments of the next call or nil.
function calibrate.ranges(who, self, batches, names)
  if not job.is(self) or self.type ~= "predict" then
    core.fail("%s: job must be a predict job, whose products are watched, got %s", who,
      job.is(self) and ("the train job '%s'"):format(self.name) or args.describe(self))
  end
  local found, ranges = {}, {}
  local watch = watching(self, names, found)
  local count = #self._inputs
  local ok, n = pcall(each_batch, who, batches, function(...)
    widen(ranges, found, watch(unpack({ ... }, 1, count)))
  end)
  job.forget(watch)
  if not ok then error(n, 0) end
  if n == 0 then core.fail("%s: batches must have one or more, got none", who) end
  return ranges
end

--- What a weight becomes in int8, for what it is multiplied by in that range.
function calibrate.stored(weight, range)
  local axis = {}
  for i = 2, #weight.shape do axis[i - 1] = i - 1 end
  local scale = op.reduce_max(op.abs(weight), { axis = axis }) / 127
  scale = op.where(op.equal(scale, 0), scale + 1, scale)
  local q = op.round(op.divide(weight,
    op.reshape(scale, { shape = variable.channels(weight.shape) })))
  local unsigned = range.least >= 0
  local most = math.max(-range.least, range.most) / (unsigned and 255 or 127)
  return { dtype = "int8", input = unsigned and "uint8" or "int8", scale = scale,
    array = core.cast(q, "int8"),
    input_scale = core.from_table({ most > 0 and most or 1 }, "float32") }
end

return calibrate
