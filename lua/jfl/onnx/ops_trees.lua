-- Trees of ai.onnx.ml: forests and boosted trees. All rows go down all trees one step at a time, by
-- tables of all nodes in which a leaf leads to itself.
local call = require "jfl.op.call"
local values = require "jfl.onnx.values"

local op = call.op

local trees = {}

local MOST_DEPTH = 2 ^ 10

local COMPARE = { BRANCH_LEQ = "less_equal", BRANCH_LT = "less", BRANCH_GTE = "greater_equal",
  BRANCH_GT = "greater" }

-- The places of nodes in the lists of a file, from 1, by tree and node; and the roots.
local function places_of(n, of, ids)
  local place, roots = {}, {}
  for i, tree in ipairs(of) do
    if not place[tree] then
      place[tree] = {}
      roots[#roots + 1] = i
    end
    place[tree][ids[i] or n:fail("each of its nodes must have a number")] = i
  end
  return place, roots
end

-- How many steps the deepest leaf is below its root. No node may be reached twice.
local function depth_of(n, roots, yes, no)
  local seen, level, depth = {}, roots, -1
  while #level > 0 do
    local below = {}
    for _, i in ipairs(level) do
      if seen[i] then n:fail("node %d of its trees is reached in two ways", i) end
      seen[i] = true
      if yes[i] ~= i then below[#below + 1], below[#below + 2] = yes[i], no[i] end
    end
    level, depth = below, depth + 1
  end
  return n:times(depth, "the depth of its trees", MOST_DEPTH)
end

-- The tables of the nodes, counted from 0.
local function read_nodes(n)
  local of, ids, modes = n:need "nodes_treeids", n:need "nodes_nodeids", n:need "nodes_modes"
  local to_yes, to_no = n:need "nodes_truenodeids", n:need "nodes_falsenodeids"
  local place, roots = places_of(n, of, ids)
  local yes, no, compare = {}, {}, nil
  for i, tree in ipairs(of) do
    yes[i], no[i] = i, i
    if modes[i] ~= "LEAF" then
      yes[i], no[i] = place[tree][to_yes[i]], place[tree][to_no[i]]
      compare = compare or modes[i]
      n:check(modes[i] == compare and COMPARE[compare], "its nodes must be leaves, or all compare "
        .. "by BRANCH_LEQ, _LT, _GTE or _GT")
      if not yes[i] or not no[i] then n:fail("node %d of its trees leads to none", i) end
    end
  end
  for _, value in ipairs(n:attr("nodes_missing_value_tracks_true", {})) do
    if value ~= 0 then n:fail("nodes_missing_value_tracks_true must be 0") end
  end
  if #of == 0 then n:fail("it must have nodes, got none") end
  return { place = place, roots = roots, yes = yes, no = no, compare = COMPARE[compare or
    "BRANCH_LEQ"], depth = depth_of(n, roots, yes, no), count = #of }
end

local function from_zero(list)
  local new = {}
  for i, v in ipairs(list) do new[i] = v - 1 end
  return values.array(new, "int32")
end

-- A list of a file as a table of all nodes, whose numbers must be below `limit`.
local function table_of(n, name, count, dtype, limit)
  local list = n:need(name)
  for i = 1, count do
    if not list[i] or limit and (list[i] < 0 or list[i] >= limit) then
      n:fail("%s must have %d numbers%s", name, count, limit and " of inputs" or "")
    end
  end
  return values.array(list, dtype)
end

-- The leaves (batch, trees) that the rows of x come to.
local function leaves_of(n, x, t)
  local batch, columns = x.shape[1], x.shape[2]
  local feature = table_of(n, "nodes_featureids", t.count, "int32", columns)
  local bound = table_of(n, "nodes_values", t.count, x.dtype)
  local yes, no = from_zero(t.yes), from_zero(t.no)
  local at = values.expand(values.reshape(from_zero(t.roots), { 1, #t.roots }),
    { batch, #t.roots })
  for _ = 1, t.depth do
    local value = op.dim_gather(x, op.gather(feature, at, { axis = 0 }), { dim = 1 })
    local is_yes = op[t.compare](value, op.gather(bound, at, { axis = 0 }))
    at = op.where(is_yes, op.gather(yes, at, { axis = 0 }), op.gather(no, at, { axis = 0 }))
  end
  return at
end

-- What leaves give for each of `count` results, as a table of all nodes; prefix: of the attributes.
local function weights_of(n, t, prefix, count)
  local list, ids_of_trees = {}, n:need(prefix .. "_treeids")
  local nodes, ids = n:need(prefix .. "_nodeids"), n:need(prefix .. "_ids")
  local weights = n:need(prefix .. "_weights")
  for i = 1, n:times(t.count * count, "nodes times results") do list[i] = 0 end
  for i, tree in ipairs(ids_of_trees) do
    local node = (t.place[tree] or {})[nodes[i]]
    n:check(node and weights[i] and ids[i] and ids[i] >= 0 and ids[i] < count,
      "weight %d of its trees must be that of a leaf and a result", i)
    local k = (node - 1) * count + ids[i] + 1
    list[k] = list[k] + weights[i]
  end
  return list
end

--- What all trees give together for each of `count` results (batch, count), as float32; the
-- attributes of leaves have names that begin with `prefix`.
function trees.scores(n, x, prefix, count)
  local t, how = read_nodes(n), n:attr("aggregate_function", "SUM")
  if how ~= "SUM" and how ~= "AVERAGE" then n:fail("aggregate_function must be SUM or AVERAGE") end
  x = values.cast(x, x.dtype == "float64" and "float64" or "float32")
  local weights = values.array(weights_of(n, t, prefix, count), x.dtype, { t.count, count })
  local sum = op.reduce_sum(op.gather(weights, leaves_of(n, x, t), { axis = 0 }), { axis = { 1 } })
  if how == "AVERAGE" then sum = op.divide(sum, #t.roots) end
  local base = n:attr("base_values", {})
  if #base == count then sum = op.add(sum, values.array(base, x.dtype, { 1, count })) end
  return values.cast(sum, "float32")
end

return trees
