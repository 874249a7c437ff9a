--- Cases of normalizations and of moving averages.
return function(give)
  local case, of, big = give.case, give.of, give.big

  -- batch norm: shapes with channels on each axis, every epilogue, and the gradient of each
  local function batch(x, channels, options, more)
    local a, c = of(x), { channels }
    local function with(add, relu)
      local o = { add = add, relu = relu }
      for k, v in pairs(options or {}) do o[k] = v end
      local add_in = add and of(x, -1, 1.3) or nil
      more(with, "batch_norm", { a, of(c, 0.5, 2), of(c, -0.5, 1), add_in }, o)
      if add and not relu then return end
      local extra = relu and (add and of(x, -0.7, 1) or of(c, -0.5, 1)) or nil
      more(with, "batch_norm_grad", { of(x, -1, 0.7), a, of(c, 0.3, 0.6), of(c, 0.1, 1),
        of(c, 0.5, 2), extra }, o)
    end
    for _, add in ipairs { false, true } do
      for _, relu in ipairs { false, true } do with(add, relu) end
    end
  end
  local function small(_, name, inputs, o) case(name, inputs, o, { grad_tol = 1e-5 }) end
  local function large(_, name, inputs, o) big(name, inputs, o, 2e-5) end
  batch({ 4, 3 }, 3, {}, small)
  batch({ 2, 3, 2, 2 }, 3, { epsilon = 0.01 }, small)
  batch({ 2, 2, 2, 3 }, 3, { axis = -1 }, small)
  batch({ 3, 2, 5 }, 3, { axis = 0 }, small)
  batch({ 2, 0, 3 }, 0, {}, small)
  batch({ 0, 2, 3 }, 2, {}, small)
  batch({ 2, 3, 0, 4 }, 3, {}, small)
  batch({ 3, 2, 0 }, 3, { axis = 0 }, small)
  batch({ 3, 5, 41, 37 }, 5, {}, large)
  batch({ 3, 64, 7, 7 }, 64, {}, large)
  batch({ 3, 9, 11, 130 }, 130, { axis = 3 }, large)
  batch({ 700, 24 }, 24, {}, large)

  -- rows: with and without gamma, beta and the mean; params over more or fewer axes than a row
  local function rows(x, param, n_rows, options, more)
    local function with(center, scale, shift)
      local o = { center = center, scale = scale, shift = shift }
      for k, v in pairs(options) do o[k] = v end
      local params = {}
      if scale then params[1] = of(param, 0.5, 2) end
      if shift then params[#params + 1] = of(param, -0.5, 1) end
      more(with, "row_norm", { of(x), unpack(params) }, o)
      more(with, "row_norm_grad", { of(x, -1, 0.7), of(x), of({ n_rows }, 0.3, 0.6),
        of({ n_rows }, 0.1, 1), params[1] }, o)
    end
    for _, center in ipairs { true, false } do
      for _, scale in ipairs { true, false } do
        for _, shift in ipairs { true, false } do with(center, scale, shift) end
      end
    end
  end
  rows({ 4, 5 }, { 5 }, 4, {}, small)
  rows({ 2, 3, 4 }, { 4 }, 2, { axis = 1 }, small)
  rows({ 2, 3, 4 }, { 3, 4 }, 6, { axis = 2, epsilon = 0.1 }, small)
  rows({ 2, 6, 5 }, { 6 }, 4, { axis = 1, groups = 2 }, small)
  rows({ 2, 6, 5 }, { 2 }, 4, { axis = 1, groups = 2 }, small)
  rows({ 0, 3 }, { 3 }, 0, {}, small)
  rows({ 3, 0 }, { 0 }, 3, {}, small)
  rows({ 300, 130 }, { 130 }, 300, {}, large)
  rows({ 7, 768 }, { 768 }, 7, {}, large)
  rows({ 2, 48, 33, 31 }, { 48 }, 8, { axis = 1, groups = 4 }, large)

  -- softmax along every axis, on tiles of lines that are whole and on others
  for _, name in ipairs { "softmax", "logsoftmax" } do
    for _, c in ipairs { { { 3, 70, 100 }, 1 }, { { 130, 64 }, 0 }, { { 40, 3, 7 }, 1 },
      { { 65, 130 }, -1 } } do
      big(name, { of(c[1], -3, 3.3) }, { axis = c[2] }, 1e-5)
      big(name .. "_grad", { of(c[1], name == "softmax" and 0 or -3, 0.9), of(c[1]) },
        { axis = c[2] }, 2e-5)
    end
  end

  -- filters of a convolution, each multiplied by a number
  case("scale_filters", { of { 3, 2, 2, 2 }, of { 3 } })
  case("scale_filters", { of { 0, 2, 2, 2 }, of { 0 } })

  for _, momentum in ipairs { 0, 0.9, 1 } do
    case("moving_average", { of { 5 }, of({ 5 }, 1, 3) }, { momentum = momentum })
  end
end
