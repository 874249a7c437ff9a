-- Functions of the original that are made of others here.
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"

local functions = {}

functions.zero_pad2d = args.unlisted("zero_pad2d", {
  { "x" }, { "padding" }, { "data_format", "", "NCHW" }, { "name", "", args.none },
}, function(o)
  return names.root().constant_pad2d(o.x, o.padding,
    { constant_value = 0, data_format = o.data_format, name = o.name })
end)

functions.save = args.unlisted("save", { { "obj", keyed = true }, { "save_dir" } }, function(o)
  names.root().checkpoint.save(o.save_dir, { var_dict = o.obj })
end)

functions.fused_bias_add_dropout = args.unlisted("nn.fused_bias_add_dropout", {
  { "value" }, { "bias" }, { "data_format", "", "NCHW" }, { "rate", "", 0.5 },
  { "noise_shape", "", args.none }, { "seed", "", args.none }, { "name", "", args.none },
}, function(o)
  local nn = names.root().nn
  local x = nn.bias_add(o.value, o.bias, { data_format = o.data_format })
  return nn.dropout { x = x, rate = o.rate, noise_shape = o.noise_shape, name = o.name }
end)

functions.fused_scale_tril_softmax_dropout = args.unlisted("nn.fused_scale_tril_softmax_dropout", {
  { "x" }, { "diagonal", "", 0 }, { "scale", "", 1 }, { "fill_value", "", -math.huge },
  { "rate", "", 0 }, { "noise_shape", "", args.none }, { "seed", "", args.none },
  { "name", "", args.none },
}, function(o)
  local flow = names.root()
  local x = flow.math.fused_scale_tril(o.x, { diagonal = o.diagonal, fill_value = o.fill_value,
    scale = o.scale })
  return flow.nn.dropout { x = flow.nn.softmax(x), rate = o.rate, noise_shape = o.noise_shape,
    name = o.name }
end)

-- Which of the valid steps, (T, N), the decoder keeps: those whose best class is not the blank nor,
-- if they are merged, that of the step before.
local function kept(flow, valid, best, blank, step, merge)
  local keep = flow.math.logical_and(valid, flow.math.not_equal(best, blank))
  if not merge then return keep end
  local is_new = flow.math.not_equal(best, flow.roll(best, 1, 0))
  return flow.math.logical_and(keep, flow.math.logical_or(flow.math.equal(step, 0), is_new))
end

-- The best class of each step of (T, N, classes), without repeats and blanks, (N, T) with zeros
-- behind it; and minus the sum of their logarithms, (N, 1).
functions.ctc_greedy_decoder = args.unlisted("nn.ctc_greedy_decoder", {
  { "log_probs" }, { "input_lengths" }, { "merge_repeated", "", true }, { "name", "", args.none },
}, function(o)
  local flow = names.root()
  local math, cast, float = flow.math, flow.cast, flow.float32
  for _, name in ipairs { "log_probs", "input_lengths" } do
    local kind = core.type(o[name])
    args.must(kind == "array" or kind == "blob", o[name],
      "nn.ctc_greedy_decoder: %s must be a blob or an NdArray", name)
  end
  args.fits(#o.log_probs.shape == 3, o.log_probs.shape,
    "nn.ctc_greedy_decoder: log_probs must be of shape (steps, batch, classes), got")
  local steps, n, classes = unpack(o.log_probs.shape)
  local best = cast(math.argmax(o.log_probs, 2), flow.int64)
  local step = flow.reshape(flow.range(steps, { dtype = flow.int64 }), { steps, 1 })
  local valid = math.less(step, flow.reshape(cast(o.input_lengths, flow.int64), { 1, n }))
  local keep = cast(kept(flow, valid, best, classes - 1, step, o.merge_repeated), float)
  local place = flow.reshape(math.cumsum(keep, 0) - 1, { steps, n, 1 })
  local column = flow.reshape(flow.range(steps, { dtype = float }), { 1, 1, steps })
  local is_there = cast(math.equal(place, column), float)
  local value = flow.reshape(keep * cast(best, float), { steps, n, 1 })
  local decoded = cast(math.reduce_sum(is_there * value, 0), flow.int64)
  local counted = cast(valid, float) * math.reduce_max(o.log_probs, 2)
  return decoded, flow.reshape(-math.reduce_sum(counted, 0), { n, 1 })
end)

return functions
