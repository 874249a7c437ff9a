-- What the exporter's spec and its oracle share: jobs of cases, and numbers for their inputs.
local flow = require "jfl"

local helper = {}

local tp = flow.typing

local KINDS = {
  normal = function(r) return 3 * (2 * r - 1) end,
  positive = function(r) return 0.1 + 2 * r end,
  unit = function(r) return 0.98 * (2 * r - 1) end,
  above = function(r) return 1.01 + 3 * r end,
}

-- Numbers from 0 to 1 that look random, always the same.
local function random(seed)
  local state = seed
  return function()
    state = (state * 16807) % 2147483647
    return state / 2147483647
  end
end

local function nested(shape, at, draw)
  local list = {}
  for i = 1, shape[at] do list[i] = at == #shape and draw() or nested(shape, at + 1, draw) end
  return list
end

local function dtype_of(what) return type(what) == "table" and what[1] or "float32" end

-- An array for an input of a case.
local function array_of(input, shape, seed)
  local draw, what = random(seed), input[3] or "normal"
  draw()
  return flow.ndarray.array(nested(shape, 1, function()
    if type(what) ~= "table" then return KINDS[what](draw()) end
    return what[2] + math.floor(draw() * (what[3] - what[2] + 1))
  end), { dtype = dtype_of(what) })
end

-- The shapes of a case's inputs with the batch so many times as large.
local function shapes_of(case, times)
  local shapes, batch = {}, case.inputs[1][2][1]
  for i, input in ipairs(case.inputs) do
    shapes[i] = { unpack(input[2]) }
    if shapes[i][1] == batch then shapes[i][1] = batch * times end
  end
  return shapes
end

--- A predict job of a case, whose batch is so many times as large, and arrays for it by name.
function helper.job(case, times)
  local inputs, arrays = {}, {}
  for i, shape in ipairs(shapes_of(case, times or 1)) do
    local input = case.inputs[i]
    inputs[i] = { input[1], tp.Numpy.Placeholder(shape, { dtype = dtype_of(input[3]) }) }
    arrays[input[1]] = array_of(input, shape, 7 * i)
  end
  return flow.global_function { name = ("%s_%d"):format(case.name, times or 1), inputs = inputs,
    returns = tp.Bundle(tp.Numpy), body = case.body }, arrays
end

--- The arrays that a job gives, in a list in the order of the file.
function helper.results(job, arrays)
  local list, value = {}, job(arrays)
  local function add(each)
    if type(each) ~= "table" then
      list[#list + 1] = each
      return
    end
    local keys = {}
    for key in pairs(each) do keys[#keys + 1] = key end
    table.sort(keys, function(a, b)
      if type(a) == type(b) then return a < b end
      return type(a) == "number"
    end)
    for _, key in ipairs(keys) do add(each[key]) end
  end
  add(value)
  return list
end

return helper
