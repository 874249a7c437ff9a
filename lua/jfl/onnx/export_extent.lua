-- A number that depends on the batch size, as numbers of a graph do where the batch is left free:
-- a times the batch size, plus b. It can be added to numbers and multiplied by them; anything else
-- is an error, a table with `why`, so that no code takes it for a number.
local metatable = require "jfl.base.metatable"

local Extent = {}
Extent.__index = Extent

local extent = {}

local function new(a, b) return a == 0 and b or setmetatable({ a = a, b = b }, Extent) end

function extent.is(value) return metatable(value) == Extent end

--- Fails: a number is needed where the value depends on the batch.
function extent.refuse() error({ why = "an extent of it depends on the batch size" }, 0) end

for _, name in ipairs { "__div", "__mod", "__pow", "__unm", "__lt", "__le", "__concat" } do
  Extent[name] = extent.refuse
end

local function parts_of(value)
  if extent.is(value) then return value.a, value.b end
  return 0, value
end

function Extent.__add(x, y)
  local a, b = parts_of(x)
  local c, d = parts_of(y)
  return new(a + c, b + d)
end

function Extent.__mul(x, y)
  local a, b = parts_of(x)
  local c, d = parts_of(y)
  if a ~= 0 and c ~= 0 then extent.refuse() end
  return new(a * d + c * b, b * d)
end

function Extent.__sub(x, y) return x + y * -1 end
function Extent.__eq(x, y) return x.a == y.a and x.b == y.b end

function Extent:__tostring()
  local text = self.a == 1 and "batch" or ("%g * batch"):format(self.a)
  return self.b == 0 and text or ("%s %s %g"):format(text, self.b < 0 and "-" or "+",
    math.abs(self.b))
end

--- The number that is values[i] at batch size sizes[i]; nil where it does not grow evenly.
function extent.of(sizes, values)
  local a = (values[2] - values[1]) / (sizes[2] - sizes[1])
  local b = values[1] - a * sizes[1]
  for i, size in ipairs(sizes) do
    if math.abs(a * size + b - values[i]) > 1e-9 * math.abs(values[i]) then return nil end
  end
  return new(a, b)
end

--- Whether two extents, or numbers, are the same.
function extent.same(x, y)
  if extent.is(x) and extent.is(y) then return x == y end
  return rawequal(x, y)
end

--- Whether any number of a list depends on the batch.
function extent.varies(list)
  for _, value in ipairs(list) do
    if extent.is(value) then return true end
  end
  return false
end

--- The product of a list.
function extent.product(list)
  local n = 1
  for _, value in ipairs(list) do n = n * value end
  return n
end

return extent
