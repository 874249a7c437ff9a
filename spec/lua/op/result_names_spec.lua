--- The option `name` of functions that are made of several ops: the result has it.
local flow = require "jfl"
local nd = flow.ndarray
local tp = flow.typing

-- What each is called with: t is a blob of two axes (2, 6), p one of pictures (2, 4, 6, 6), s and q
-- of one axis, 2 and 6, i are two whole numbers.
local CALLS = {
  ["broadcast_like"] = "s t2", ["constant_like"] = "t 3", ["constant_pad2d"] = "p 1",
  ["diagonal"] = "t", ["einsum"] = "eq tt", ["elem_cnt"] = "t",
  ["experimental.square_sum"] = "t", ["image.adjust_brightness"] = "c 2",
  ["image.adjust_contrast"] = "c 2", ["image.adjust_saturation"] = "c 2",
  ["image.center_crop"] = "p 4", ["masked_fill"] = "t m 3", ["math.add_n"] = "tt",
  ["math.gelu"] = "t", ["math.l2_normalize"] = "t", ["math.reduce_euclidean_norm"] = "t",
  ["math.reduce_l1"] = "t", ["math.reduce_logsumexp"] = "t", ["math.reduce_std"] = "t",
  ["math.polyval"] = "co t",
  ["math.reduce_variance"] = "t", ["math.two_stage_reduce_max"] = "t", ["matmul"] = "t u",
  ["moveaxis"] = "p 0 1", ["nn.BCEWithLogitsLoss"] = "t t", ["nn.KLDivLoss"] = "t t",
  ["nn.L1Loss"] = "t t", ["nn.MSELoss"] = "t t", ["nn.PixelShuffle"] = "p 2",
  ["nn.adaptive_avg_pool2d"] = "p 2", ["nn.adaptive_max_pool2d"] = "p 2", ["nn.celu"] = "t",
  ["nn.cosine_similarity"] = "t t", ["nn.glu"] = "t", ["nn.global_avg_pool"] = "p",
  ["nn.hinge_loss"] = "t t", ["nn.huber_loss"] = "t t", ["nn.local_response_norm"] = "p 3",
  ["nn.layer_norm"] = "t", ["repeat_interleave"] = "t 2 1", ["reverse"] = "t 0",
  ["roll"] = "t 1", ["slice_v2"] = "t part", ["tile"] = "t 2",
  ["experimental.logical_slice"] = "t steps", ["slice_update"] = "t 3 part",
  ["swapaxes"] = "t 0 1", ["transpose"] = "t swap", ["stack"] = "tt", ["squeeze"] = "one",
}

local function function_at(path)
  local at = flow
  for name in path:gmatch "[^.]+" do at = at[name] end
  return at
end

describe("the name that is given to", function()
  local made

  setup(function()
    made = {}
    flow.clear_default_session()
    flow.global_function { name = "job", returns = tp.Numpy,
      inputs = { { "t", tp.Numpy.Placeholder { 2, 6 } },
        { "p", tp.Numpy.Placeholder { 2, 4, 6, 6 } } },
      body = function(t, p)
        local values = { t = t, p = p, tt = { t, t }, u = flow.transpose(t, { 1, 0 }),
          s = flow.reshape(flow.math.reduce_sum(t), { 1 }), t2 = t, eq = "ij,kj->ik",
          c = flow.slice_v2(p, { { 0, 2 }, { 0, 3 } }), m = flow.math.greater(t, 0),
          part = { { 0, 1 } }, steps = { { 0, 2 }, { 0, 6, 2 } }, swap = { 1, 0 }, co = { 2 },
          one = flow.reshape(t, { 2, 1, 6 }) }
        for path, words in pairs(CALLS) do
          local given = {}
          for word in words:gmatch "%S+" do
            given[#given + 1] = tonumber(word) or assert(values[word], word)
          end
          given[#given + 1] = { name = "the-" .. path }
          made[path] = function_at(path)(unpack(given)).name
        end
        return t
      end }(nd.ones { 2, 6 }, nd.ones { 2, 4, 6, 6 })
    flow.clear_default_session()
  end)

  for path in pairs(CALLS) do
    it(path .. " is that of its result", function() assert.equal("the-" .. path, made[path]) end)
  end
end)
