-- flow.random: the seed of everything that is drawn, and random NdArrays.
local args = require "jfl.args"
local bit = require "bit"
local core = require "jfl.core"

local random = {}

local BLOCK = 65536

-- xoshiro128+ by Blackman and Vigna, on four 32-bit words.
local state = nil

local function start(seed)
  local x = (seed + 0x9E3779B9) % 2 ^ 32
  local words = {}
  for i = 1, 8 do
    x = (x * 1664525 + 1013904223) % 2 ^ 32
    words[i] = bit.bxor(bit.tobit(x), bit.rshift(bit.tobit(x), 15))
  end
  state = { words[5], words[6], words[7], bit.bor(words[8], 1) }
end

-- A word of 32 random bits.
local function draw()
  local a, b, c, d = state[1], state[2], state[3], state[4]
  local result = bit.tobit(a + d)
  c, d = bit.bxor(c, a), bit.bxor(d, b)
  state[1], state[2] = bit.bxor(a, d), bit.bxor(b, c)
  state[3], state[4] = bit.bxor(c, bit.lshift(b, 9)), bit.rol(d, 11)
  return result
end

-- Multiples of 2^-24 in [0, 1): exact in float32 too.
local function uniform() return bit.rshift(draw(), 8) * 2 ^ -24 end

-- The method of Box and Muller, without keeping the second value.
local function normal()
  return math.sqrt(-2 * math.log(1 - uniform())) * math.cos(2 * math.pi * uniform())
end

local function fill(a, next_value)
  local flat = core.reshape(a, { -1 })
  for first = 0, #flat - 1, BLOCK do
    local values = {}
    for i = 1, math.min(BLOCK, #flat - first) do values[i] = next_value() end
    core.assign(core.rows(flat, first, #values), core.from_table(values, a.dtype))
  end
  return a
end

local function maker(name, doc, next_value)
  local path = "ndarray." .. name
  return args.define(path, doc, {
    { "shape", "its extents" },
    { "dtype", "of its elements", "float32" },
    returns = "NdArray",
  }, function(o)
    local shape = args.shape(path, "shape", type(o.shape) == "number" and { o.shape } or o.shape)
    if not state then start(core.get("seed")) end
    return fill(core.array(args.dtype(path, "dtype", o.dtype), shape), next_value)
  end)
end

random.rand = maker("rand", "Uniform values in [0, 1).", uniform)
random.randn = maker("randn", "Normal values, mean 0, standard deviation 1.", normal)

--- Makes what is drawn from here on, by jobs and by NdArrays, the same in every run.
function random.seed(n)
  args.integer("random.seed", "seed", n, 0)
  core.set("seed", n)
  start(n)
end

return random
