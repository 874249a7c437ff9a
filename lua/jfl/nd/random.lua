-- flow.random: the seed of everything that is drawn, and random NdArrays.
---@space random
---@box ndarray.rand ndarray.randn random.rand random.randn random.seed
local args = require "jfl.base.args"
local core = require "jfl.core"
local call = require "jfl.op.call"
local trace = require "jfl.job.trace"

local random = {}

-- Runs an op at once, also inside a body, where it would otherwise join the job.
local function at_once(f, ...)
  if trace.current then return (trace.without_graph(f, ...)) end
  return (f(...))
end

local function maker(name, doc, op)
  local path, draw = "ndarray." .. name, core.op(op)
  return args.define(path, doc, {
    { "shape", "its extents", type = "integer|integer[]" },
    { "dtype", "of its elements", "float32" },
    returns = "NdArray",
  }, function(o)
    local shape = args.shape(path, "shape", type(o.shape) == "number" and { o.shape } or o.shape)
    local dtype = args.dtype(path, "dtype", o.dtype)
    return at_once(draw, { shape = shape, dtype = dtype })
  end)
end

random.rand = maker("rand", "Uniform values in [0, 1).", "random_uniform")
random.randn = maker("randn", "Normal values, mean 0, standard deviation 1.", "random_normal")
random.uniform, random.normal = call.of("random_uniform"), call.of("random_normal")
random.randint, random.permutation = call.of("random_randint"), call.of("random_permutation")

--- Makes all random numbers drawn from here on, by jobs and for NdArrays, the same in every run.
function random.seed(n)
  args.integer("random.seed", "seed", n, 0)
  core.set("seed", n)
end

return random
