-- Arguments of the original that mean nothing here, by the function's path: at which place it takes
-- each, and the name. args.define adds them to its own.
local function initializer(place, ...)
  local list = {}
  for i, name in ipairs { ... } do list[i] = { place + i - 1, name } end
  return list
end

return {
  get_variable = {
    { 7, "model_name" }, { 8, "random_seed" },
  },
  ["nn.dropout"] = { { 4, "seed" } },
  ["image.Resize"] = { { 10, "channels" }, { 11, "dtype" }, { 12, "color_space" },
    { 13, "interp_type" } },
  ["random.CoinFlip"] = { { 4, "seed" } },
  constant_initializer = initializer(2, "dtype"),
  glorot_normal_initializer = initializer(1, "data_format", "dtype"),
  glorot_uniform_initializer = initializer(1, "data_format", "dtype"),
  ones_initializer = initializer(1, "dtype"),
  random_normal_initializer = initializer(3, "seed", "dtype"),
  random_uniform_initializer = initializer(3, "dtype"),
  truncated_normal_initializer = initializer(3, "seed", "dtype"),
  variance_scaling_initializer = initializer(4, "data_format", "dtype"),
  zeros_initializer = initializer(1, "dtype"),
}
