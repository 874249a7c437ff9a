-- Methods of arrays and blobs that are functions of flow: x:softmax(1) is flow.nn.softmax(x, 1). A
-- function is one if its first argument is a tensor, as the op table or its own parameters say.
local core = require "jfl.core"
local names = require "jfl.base.names"
local registry = require "jfl.base.registry"

local methods = {}

-- Where a method's function is looked for, the first place first.
local PLACES = { "%s", "math.%s", "nn.%s", "math.reduce_%s" }

local by_path                    -- the ops by the paths of their functions

local function op_at(path)
  if by_path then return by_path[path] end
  local found = {}
  for _, op in pairs(core.ops()) do
    for each in (op.path or ""):gmatch("%S+") do found[each] = op end
  end
  by_path = found
  return found[path]
end

-- The type of the first argument of a function that is made of ops; nil for any other name.
local function first_type(path)
  local defined = registry.defined(path)
  return defined and defined.params[1] and defined.params[1].type
end

-- Whether arrays, or blobs, are what the function at a path takes first.
local function takes(path, class)
  local of = first_type(path)
  if of then return of == "Tensor" or of == class end
  local op = op_at(path)
  return op ~= nil and #op.inputs > 0 and not (op.variadic and #op.inputs == 1)
end

-- The path below flow of the function that a method is; nil where there is none.
local function path_of(class, name)
  if not name:match("^%l[%w_]*$") then return nil end
  for _, place in ipairs(PLACES) do
    local path = place:format(name)
    if names.has(path) and takes(path, class) then return path end
  end
end

-- What arrays and blobs of other libraries have, and what does it here.
local ELSEWHERE = {
  { "tolist to_list", "x:totable() gives nested tables" },
  { "T mT permute swapdims", "x:transpose(1, 0) gives its axes in another order" },
  { "view ravel resize", "x:reshape(2, -1)" },
  { "unsqueeze", "x:expand_dims(axis)" },
  { "cuda cpu to device gpu", "arrays are in the host's memory, and jobs copy them to where they "
    .. "compute: flow.help('gpu')" },
  { "float double half int long bool type type_as", "x:astype(flow.float32) converts" },
  { "dot mm bmm mv", "x:matmul(y)" },
  { "append extend cat concat concatenate hstack vstack", "flow.concat({ x, y }, axis)" },
  { "stack", "flow.stack({ x, y }, axis)" },
  { "grad requires_grad requires_grad_ backward retain_grad", "gradients are taken in a body, by "
    .. "flow.optimizer.SGD(rate):minimize(loss); flow.watch_diff(x) shows that of x" },
  { "detach", "x:stop_gradient()" },
  { "clone deepcopy", "x:copy(), or of a blob x:identity()" },
  { "ndim dim rank ndimension", "it is #x.shape" },
  { "numel nelement count length len", "#x counts rows, x.size elements" },
  { "norm", "x:euclidean_norm()" },
  { "var", "x:variance(axis)" },
  { "median", "x:reshape(-1):sort()[math.ceil(x.size / 2)]" },
  { "quantile percentile", "x:reshape(-1):sort()[math.ceil(0.9 * x.size)] is that of 0.9" },
  { "count_nonzero", "x:ne(0):sum()" },
  { "zero_ fill_", "x:fill(0)" },
  { "masked_select compress mask filter", "x:boolean_mask(mask)" },
  { "nan_to_num fillna", "flow.where(x:isnan(), 0, x)" },
  { "bincount", "flow.one_hot(x, n):sum(0)" },
  { "index_select", "x:take({ 1, 3 }), or flow.gather for places from 0" },
  { "repeat repeat_ expand tiled", "x:tile(n), x:repeat_interleave(n), x:broadcast_to(shape)" },
  { "map apply", "flow.math.exp(x) and its like work on all elements; x:pointer() is for loops" },
  { "plot show imshow", "flow.plot(x), flow.plot_images(x)" },
}

--- What to do in place of a name that arrays have elsewhere, as the end of a message; or nil.
function methods.elsewhere(name)
  for _, each in ipairs(ELSEWHERE) do
    for word in each[1]:gmatch("%S+") do
      if word == name then return each[2] end
    end
  end
end

local listed = {}                -- the methods of a class by name, once they were asked for

-- The last names of all functions in the places where methods are looked for.
local function candidates()
  local found, spaces = {}, { [""] = true, math = true, nn = true }
  for _, space in ipairs { "", "math", "nn" } do
    for name in pairs(registry.names(space)) do found[name] = true end
  end
  for _, paths in pairs(core.op_paths()) do
    for path in paths:gmatch("%S+") do
      local space, name = path:match("^(.-)%.?([^.]+)$")
      if spaces[space] then found[name] = true end
    end
  end
  for name in pairs(found) do found[name:match("^reduce_(.+)$") or name] = true end
  return found
end

--- The paths of the functions that objects of a class have as methods, by the methods' names.
function methods.names(class)
  if listed[class] then return listed[class] end
  local list = {}
  for name in pairs(candidates()) do list[name] = path_of(class, name) end
  listed[class] = list
  return list
end

--- The path below flow of the function that a method is, or nil. class: "NdArray" or "Blob".
methods.path = path_of

--- The function that a method is, and its path below flow; or nil.
function methods.find(class, name)
  local path = path_of(class, name)
  if not path then return nil end
  local at = names.root()
  for part in path:gmatch("[^.]+") do at = at[part] end
  return at, path
end

return methods
