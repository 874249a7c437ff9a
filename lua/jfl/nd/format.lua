-- Text of NdArrays, as numpy prints them: shortest digits, aligned columns, long arrays cut.
local core = require "jfl.core"

local ndformat = {}

local WIDTH, LIMIT, EDGE, PLACES = 75, 1000, 3, 8

-- For each dtype: its significant bits; the number of decimal digits that always tell two of its
-- values apart; the exponent of its least value above 0; and the number of decimal digits that a
-- value always keeps. A decimal number of at most that many digits, stored in the dtype and printed
-- with as many digits, comes back unchanged, unless it is subnormal.
local PRECISION = {
  float64 = { 53, 17, -1074, 15 }, float32 = { 24, 9, -149, 6 }, float16 = { 11, 5, -24, 3 },
  bfloat16 = { 8, 4, -133, 2 },
}

-- The value nearest to x in a dtype narrower than float64. Each step is exact, so that it is the
-- same where a host rounds up, down or towards 0.
local function rounded(x, precision)
  local mantissa, exponent = math.frexp(x)
  local bits = math.min(precision[1], exponent - precision[3])
  local scaled = mantissa * 2 ^ bits
  local whole = math.floor(scaled)
  local over = scaled - whole
  if over > 0.5 or (over == 0.5 and whole % 2 == 1) then whole = whole + 1 end
  return math.ldexp(whole, exponent - bits)
end

-- x with so many decimals ("f"), or digits behind the first ("e"). Where a host rounds down, a
-- number less itself is -0, also one of places.
local function decimals(x, places, kind) return ("%%.%d%s"):format(places, kind):format(x) end

-- x with the given number of decimals ("f") or of digits after the first ("e"). Halfway cases are
-- rounded to even, where string.format rounds them up.
local function decimal(x, places, kind)
  local text = decimals(x, places, kind)
  local number, exponent = text:match("^([^e]*)(.*)$")
  local odd = number:match("[13579]$")
  if not odd then return text end
  local exact = ("%.60" .. kind):format(x):gsub("e.*", "")
  if exact:find("%." .. ("%d"):rep(places) .. "50*$") then
    return number:sub(1, -2) .. odd - 1 .. exponent
  end
  return text
end

-- The least number of significant digits from which x can be read back, and its decimal exponent.
local function shortest(x, precision)
  local subnormal = math.abs(x) < 2 ^ (precision[3] + precision[1])
  for digits = subnormal and 1 or precision[4], precision[2] do
    local text = decimals(x, digits - 1, "e")
    local back = tonumber(text)
    if back == x or (precision[1] < 53 and rounded(back, precision) == x) then
      local zeros, exponent = text:match("(0*)e([+-]%d+)$")
      return digits - #zeros, tonumber(exponent)
    end
  end
  return precision[2], math.floor(math.log10(math.abs(x)))
end

local function special(x)
  if x ~= x then return "nan" end
  if x == math.huge then return "inf" end
  if x == -math.huge then return "-inf" end
end

local function needs_exponent(values)
  local least, most = math.huge, 0
  for _, x in ipairs(values) do
    local size = math.abs(x)
    if x == x and size > 0 and size < math.huge then
      least, most = math.min(least, size), math.max(most, size)
    end
  end
  return most > 0 and (most >= 1e8 or least < 1e-4 or most / least > 1000)
end

local function exponent_texts(values, precision)
  local places, texts = 0, {}
  for _, x in ipairs(values) do
    if not special(x) and x ~= 0 then
      places = math.max(places, math.min(shortest(x, precision) - 1, PLACES))
    end
  end
  for i, x in ipairs(values) do
    local text = special(x) or decimal(x, places, "e")
    texts[i] = places == 0 and text:gsub("e", ".e") or text
  end
  return texts
end

local function pad_right(texts)
  local width = 0
  for _, text in ipairs(texts) do width = math.max(width, #(text:match("%..*$") or "")) end
  for i, text in ipairs(texts) do
    local fraction = text:match("%..*$")
    if fraction then texts[i] = text .. (" "):rep(width - #fraction) end
  end
  return texts
end

local function fixed_texts(values, precision)
  local texts = {}
  for i, x in ipairs(values) do
    if special(x) or x == 0 then
      texts[i] = special(x) or (1 / x < 0 and "-0." or "0.")
    else
      local digits, exponent = shortest(x, precision)
      local places = math.max(0, math.min(PLACES, digits - 1 - exponent))
      local text = decimal(x, places, "f")
      texts[i] = places == 0 and text .. "." or text:gsub("0+$", "")
    end
  end
  return pad_right(texts)
end

local function texts_of(values, dtype)
  local precision = PRECISION[dtype]
  local texts
  if not precision then
    texts = values
  elseif needs_exponent(values) then
    texts = exponent_texts(values, precision)
  else
    texts = fixed_texts(values, precision)
  end
  local width = 0
  for _, text in ipairs(texts) do width = math.max(width, #text) end
  for i, text in ipairs(texts) do texts[i] = (" "):rep(width - #text) .. text end
  return texts
end

-- The positions of an axis that are shown; 0 stands for those left out.
local function shown(extent, cut)
  local list = {}
  if not cut or extent <= 2 * EDGE then
    for i = 1, extent do list[i] = i end
    return list
  end
  for i = 1, EDGE do list[i] = i end
  list[EDGE + 1] = 0
  for i = 1, EDGE do list[EDGE + 1 + i] = extent - EDGE + i end
  return list
end

-- The elements that are shown, in order, as get(a, i, j, ...) returns them.
local function collect(a, get, cut, index, values)
  local shape = a.shape
  local axis = #index + 1
  for _, i in ipairs(shown(shape[axis], cut)) do
    if i > 0 then
      index[axis] = i
      if axis == #shape then
        values[#values + 1] = get(a, unpack(index))
      else
        collect(a, get, cut, index, values)
      end
      index[axis] = nil
    end
  end
  return values
end

-- Puts items on one line, or several where it is too long, after `indent` columns and with room for
-- as many closing brackets.
local function wrap(items, indent)
  local lines, line = {}, ""
  for _, item in ipairs(items) do
    if line ~= "" and indent + #line + 1 + #item + indent > WIDTH then
      lines[#lines + 1] = line:gsub(" +$", "")
      line = ""
    end
    line = line == "" and item or line .. " " .. item
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

local function layout(shape, axis, cut, texts, at)
  local items = {}
  for i, position in ipairs(shown(shape[axis], cut)) do
    if position == 0 then
      items[i] = "..."
    elseif axis == #shape then
      at = at + 1
      items[i] = texts[at]
    else
      items[i], at = layout(shape, axis + 1, cut, texts, at)
    end
  end
  if axis == #shape then return "[" .. wrap(items, axis) .. "]", at end
  local gap = ("\n"):rep(#shape - axis) .. (" "):rep(axis)
  return "[" .. table.concat(items, gap) .. "]", at
end

-- From this decimal exponent on numpy writes a scalar with one; keyed by significant bits.
local LARGE = { [53] = 16, [24] = 6, [11] = 3, [8] = 6 }

-- A number as numpy writes a scalar.
local function scalar(x, precision)
  if special(x) then return special(x) end
  if x == 0 then return 1 / x < 0 and "-0.0" or "0.0" end
  local digits, exponent = shortest(x, precision)
  if exponent < -4 or exponent >= LARGE[precision[1]] then return decimal(x, digits - 1, "e") end
  return decimal(x, math.max(digits - 1 - exponent, 1), "f")
end

--- The text of an array.
function ndformat.text(a)
  if core.is_freed(a) then return "a freed NdArray" end
  if core.blocks[a.dtype] then a = core.cast(a, "float32") end
  local shape, cut = a.shape, a.size > LIMIT
  if a.size == 0 then return "[]" end
  if #shape == 0 then
    local precision = PRECISION[a.dtype]
    return precision and scalar(core.get(a), precision) or core.digits(a)
  end
  local get = PRECISION[a.dtype] and core.get or core.digits
  local texts = texts_of(collect(a, get, cut, {}, {}), a.dtype)
  return (layout(shape, 1, cut, texts, 0))
end

return ndformat
