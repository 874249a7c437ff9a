-- Functions of the original that are made of others here.
local args = require "jfl.base.args"
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
  return nn.dropout(x, o.rate, { noise_shape = o.noise_shape, name = o.name })
end)

functions.fused_scale_tril_softmax_dropout = args.unlisted("nn.fused_scale_tril_softmax_dropout", {
  { "x" }, { "diagonal", "", 0 }, { "scale", "", 1 }, { "fill_value", "", -math.huge },
  { "rate", "", 0 }, { "noise_shape", "", args.none }, { "seed", "", args.none },
  { "name", "", args.none },
}, function(o)
  local flow = names.root()
  local x = flow.math.fused_scale_tril(o.x, { diagonal = o.diagonal, fill_value = o.fill_value,
    scale = o.scale })
  return flow.nn.dropout(flow.nn.softmax(x), o.rate,
    { noise_shape = o.noise_shape, name = o.name })
end)

return functions
