-- The stream of random numbers that the front end draws from, and orders that follow from a seed.
local bit = require "bit"
local core = require "jfl.core"

local stream = {}

-- Four 32-bit words; nil before the first draw.
local state = nil

-- xoshiro128+ by Blackman and Vigna. A session's own seed has more than 32 bits.
local function new_state(seed)
  local x = (seed % 2 ^ 32 + math.floor(seed / 2 ^ 32) + 0x9E3779B9) % 2 ^ 32
  local words = {}
  for i = 1, 8 do
    x = (x * 1664525 + 1013904223) % 2 ^ 32
    words[i] = bit.bxor(bit.tobit(x), bit.rshift(bit.tobit(x), 15))
  end
  return { words[5], words[6], words[7], bit.bor(words[8], 1) }
end

local function draw(s)
  local a, b, c, d = s[1], s[2], s[3], s[4]
  local result = bit.tobit(a + d)
  c, d = bit.bxor(c, a), bit.bxor(d, b)
  s[1], s[2] = bit.bxor(a, d), bit.bxor(b, c)
  s[3], s[4] = bit.bxor(c, bit.lshift(b, 9)), bit.rol(d, 11)
  return result
end

--- Begins the stream anew.
function stream.seed(n) state = new_state(n) end

--- A word of 32 random bits; without a seed the session's own is used.
function stream.draw()
  state = state or new_state(core.get("seed"))
  return draw(state)
end

--- The numbers 1 to n in an order that depends on the seed alone.
function stream.order(n, seed)
  local own, order = new_state(seed), {}
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    local k = math.floor(draw(own) % 2 ^ 32 * 2 ^ -32 * i) + 1
    order[i], order[k] = order[k], order[i]
  end
  return order
end

--- Where the stream is, as text.
function stream.save()
  if not state then return "" end
  local words = {}
  for i, word in ipairs(state) do words[i] = bit.tohex(word) end
  return table.concat(words, " ")
end

--- What puts the stream where it was when stream.save gave the text; nil for any other text.
function stream.restorer(text)
  local words = { text:match("^(%x+) (%x+) (%x+) (%x+)$") }
  for i, word in ipairs(words) do
    if #word ~= 8 then return nil end
    words[i] = bit.tobit(tonumber(word, 16))
  end
  if #words == 0 and text ~= "" then return nil end
  return function() state = words[1] and words or nil end
end

return stream
