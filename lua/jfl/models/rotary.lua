-- The angles of rotary positions as configurations tell them: by a base alone, or scaled, so that
-- texts can be longer than those that a network learnt from.
local args = require "jfl.base.args"

local rotary = {}

local WHO = "models.llama"

-- A number of the parameters, which must be there unless it has a default.
local function number(p, name, default)
  local value = p[name]
  if value == nil then value = default end
  return args.number(WHO, "rope_parameters: " .. name, value, "a number above 0")
end

-- The length that the network learnt with.
local function original(p, c)
  return number(p, "original_max_position_embeddings", c.max_position_embeddings)
end

-- What becomes of the frequency of each pair, as functions of (frequency, i from 0 on), and what
-- is turned is multiplied by.
local KINDS = {
  linear = function(p)
    local factor = number(p, "factor")
    return function(f) return f / factor end
  end,

  -- Slow ones become slower, fast ones stay (Llama 3.1).
  llama3 = function(p, c)
    local factor, most = number(p, "factor"), original(p, c)
    local low, high = number(p, "low_freq_factor"), number(p, "high_freq_factor")
    return function(f)
      local turns = most * f / (2 * math.pi)             -- within the original length
      if turns > high then return f end
      if turns < low then return f / factor end
      local share = (turns - low) / (high - low)
      return (1 - share) * f / factor + share * f
    end
  end,

  -- Slower turns by a ramp over pairs, and sharper scores (Peng et al., YaRN, 2023).
  yarn = function(p, c, pairs_of, base)
    local factor, most = number(p, "factor"), original(p, c)
    local function pair_that_turns(n)
      return pairs_of * math.log(most / (n * 2 * math.pi)) / math.log(base)
    end
    local first = math.max(0, math.floor(pair_that_turns(number(p, "beta_fast", 32))))
    local last = math.min(2 * pairs_of - 1, math.ceil(pair_that_turns(number(p, "beta_slow", 1))))
    if first == last then last = last + 0.001 end
    return function(f, i)
      local share = math.max(0, math.min(1, (i - first) / (last - first)))
      return f * (1 - share) + f / factor * share
    end, number(p, "attention_factor", factor > 1 and 0.1 * math.log(factor) + 1 or 1)
  end,

  -- What a GGUF file tells: what the frequency of each pair is divided by.
  factors = function(p, _, pairs_of)
    local list = p.factors
    args.check(type(list) == "table" and #list == pairs_of, "%s: rope_parameters: factors must be "
      .. "a list of %d numbers", WHO, pairs_of)
    return function(f, i) return f / number(list, i + 1) end
  end,
}

--- What nn.rotary_embedding is told for a head of that size.
function rotary.of(c, size)
  local p = c.rope_parameters or c.rope_scaling or {}
  local name = p.rope_type or p.type or "default"
  local kind, base = KINDS[name], number(p, "rope_theta", c.rope_theta)
  if name == "default" then return { base = base, interleaved = c.rope_interleaved } end
  args.check(kind, "%s: rope_type must be \"default\", \"linear\", \"llama3\" or \"yarn\", got "
    .. "\"%s\"", WHO, tostring(name))
  local scaled, scale = kind(p, c, size / 2, base)
  local frequencies = {}
  for i = 0, size / 2 - 1 do frequencies[i + 1] = scaled(base ^ (-2 * i / size), i) end
  return { frequencies = frequencies, scale = scale or 1, interleaved = c.rope_interleaved }
end

return rotary
