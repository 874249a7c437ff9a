--- The least number that an option takes is taken, and the one below is refused.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray
local tp = flow.typing

local T = nd.ones { 2, 6 }
local P = nd.ones { 2, 4, 6, 6 }

-- A function, what it is called with, the option and the least number; most: the largest.
local ARRAYS = {
  { "repeat_interleave", { T }, "repeats", 0 }, { "linspace", { 0, 1 }, "num", 1 },
  { "chunk", { T }, "chunks", 1 }, { "nn.PixelShuffle", { P }, "upscale_factor", 1 },
  { "nn.PixelShufflev2", { P }, "h_upscale_factor", 1, { w_upscale_factor = 1 } },
  { "nn.PixelShufflev2", { P }, "w_upscale_factor", 1, { h_upscale_factor = 1 } },
  { "nn.GroupNorm", { P }, "num_groups", 1, { affine = false } },
  { "nn.local_response_norm", { P }, "size", 1 },
  { "random.CoinFlip", {}, "batch_size", 1 },
  { "quantization.min_max_observer", { T }, "quantization_bit", 2, most = 16 },
  { "data.batches", { T }, "batch_size", 1 }, { "data.batches", { T }, "workers", 0, most = 64 },
  { "data.batches", { T }, "seed", 0 },
  { "optimizer.loss_scale.dynamic_loss_scale", {}, "increment_period", 1 },
}

local LAYERS = {
  { "layers.dense", "T", "units", 1 }, { "layers.lstm", "R", "units", 1 },
  { "layers.gru", "R", "num_layers", 1, { units = 2 }, most = 1000 },
  { "layers.conv2d", "P", "filters", 1, { kernel_size = 3 } },
  { "layers.conv2d", "P", "groups", 1, { filters = 2, kernel_size = 3 } },
  { "layers.multi_head_attention", "R", "num_heads", 1 },
  { "layers.multi_head_attention", "R", "num_kv_heads", 1, { num_heads = 2 } },
  { "layers.multi_head_attention", "R", "head_size", 1, { num_heads = 2 } },
  { "layers.group_norm", "P", "num_groups", 1 },
  { "layers.embedding", "I", "vocabulary", 1, { units = 2 } },
  { "layers.embedding", "I", "units", 1, { vocabulary = 2 } },
  { "layers.embedding", "I", "padding_idx", 0, { vocabulary = 2, units = 2 } },
}

local function function_at(path)
  local at = flow
  for name in path:gmatch "[^.]+" do at = at[name] end
  return at
end

--- Calls call(number), which takes the least, and not the one below.
local function tries(case, call)
  local least, most = case[4], case.most
  call(least)
  helper.fails(function() call(least - 1) end, case[3] .. " must be a whole number "
    .. (most and ("from %d to %d, got %d"):format(least, most, least - 1)
      or ("of at least %d, got number %d"):format(least, least - 1)))
end

local function options_of(case, number)
  local options = { [case[3]] = number }
  for name, value in pairs(case[5] or {}) do options[name] = value end
  return options
end

describe("the least number", function()
  after_each(function() flow.clear_default_session() end)

  for _, case in ipairs(ARRAYS) do
    it(("of %s: %s"):format(case[1], case[3]), function()
      tries(case, function(number)
        local given = { unpack(case[2]) }
        given[#given + 1] = options_of(case, number)
        function_at(case[1])(unpack(given))
      end)
    end)
  end

  for _, case in ipairs(LAYERS) do
    it(("of %s: %s"):format(case[1], case[3]), function()
      tries(case, function(number)
        flow.clear_default_session()
        flow.global_function { name = "job", returns = tp.Numpy,
          inputs = { { "t", tp.Numpy.Placeholder { 2, 6 } },
            { "p", tp.Numpy.Placeholder { 2, 4, 6, 6 } } },
          body = function(t, p)
            local blobs = { T = t, P = p, R = flow.reshape(p, { 2, 4, 36 }),
              I = flow.constant(0, { dtype = flow.int32, shape = { 2 } }) }
            return (function_at(case[1])(blobs[case[2]], options_of(case, number)))
          end }(T, P)
      end)
    end)
  end
end)
