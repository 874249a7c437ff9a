-- flow.data.batches: puts single samples together to batches.
---@flow data.batches
local ahead = require "jfl.data.ahead"
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local lazy = require "jfl.data.lazy"
local loop = require "jfl.data.loop"
local warn = require "jfl.base.warn"

local batches = {}

local WHO = "data.batches"

-- ---- samples put together ----

local function kind_of(value)
  local kind = core.type(value) or type(value)
  return kind == "boolean" and "number" or kind
end

local function stacked(name, values)
  local first = values[1]
  local shape, text = { #values, unpack(first.shape) }, args.shape_text(first.shape)
  local out = core.array(first.dtype, shape)
  for i, value in ipairs(values) do
    if args.shape_text(value.shape) ~= text then
      core.fail("%s: %s must have one shape in all samples of a batch, got %s and %s", WHO, name,
        text, args.shape_text(value.shape))
    end
    out[i] = #shape == 1 and value:item() or value
  end
  return out
end

-- The values of a column's samples as one: an array of numbers, tables or arrays; a list of texts.
local function put_together(name, values, n)
  local kind = kind_of(values[1])
  for i = 2, n do
    if kind_of(values[i]) ~= kind then
      core.fail("%s: %s must be of one kind in all samples of a batch, got %s and %s", WHO, name,
        args.describe(values[1]), args.describe(values[i]))
    end
  end
  if kind == "string" then return values end
  if kind == "array" then return stacked(name, values) end
  if kind == "number" or kind == "table" then
    return core.from_table(values, "float32", nil, WHO .. ": " .. name)
  end
  core.fail("%s: %s must be a number, a text, an NdArray or a table in each sample, got %s", WHO,
    name, args.describe(values[1]))
end

-- ---- sources: each a function from a step to its values ----

-- Which sample is the i-th of a step's epoch.
local function sample(step, i) return step.order and step.order[i] or i end

local gather = core.op("gather")

-- The rows of arrays that a step has; without an order they share the array's memory.
local function array_rows(column, step, indices)
  if not step.order then return core.rows(column, step.first - 1, step.last - step.first + 1) end
  return (gather(column, indices))
end

local function indices_of(step)
  local list = {}
  for i = step.first, step.last do list[#list + 1] = step.order[i] - 1 end
  return core.from_table(list, "int32")
end

local function list_rows(name, column, step)
  local values, of = {}, lazy.of(column)
  for i = step.first, step.last do
    local item = column[sample(step, i)]
    values[#values + 1] = of and lazy.value(WHO, column, item) or item
  end
  return of and of.as_list and values or put_together(name, values, #values)
end

-- Which row stands for each of n, where some are left out: the next that is not; nil where none is.
local function stand_ins(bad, n)
  local list, following = {}, nil
  for i = 2 * n, 1, -1 do
    local row = (i - 1) % n + 1
    if not bad[row] then following = row end
    if i <= n then list[i] = following end
  end
  return following and list
end

-- Tells once of each sample that is left out, in `told`, and puts others in their place.
local function replace_bad(values, bad, n, told)
  local rows = stand_ins(bad, n)
  for row = 1, n do
    if bad[row] and not rows then
      core.fail("%s: none of the batch's %d samples can be read: %s", WHO, n, bad[row])
    end
    if bad[row] and not told[bad[row]] then
      told[bad[row]] = true
      warn.say("%s: left out: %s", WHO, bad[row])
    end
  end
  local indices = {}
  for i, row in ipairs(rows) do indices[i] = row - 1 end
  for k, value in pairs(values) do
    if core.type(value) == "array" then
      values[k] = gather(value, core.from_table(indices, "int32"))
    else
      local list = {}
      for i, row in ipairs(rows) do list[i] = value[row] end
      values[k] = list
    end
  end
end

-- The loaders of columns that have one.
local function loaders_of(list, workers)
  local loaders = {}
  for k, column in ipairs(list) do
    local about = lazy.of(column)
    loaders[k] = about and about.spec and ahead.loader(WHO, column, workers) or false
  end
  return loaders
end

local function add_bad(bad, more)
  for row, why in pairs(more) do
    bad = bad or {}
    bad[row] = bad[row] or why
  end
  return bad
end

local function from_columns(list, titles, workers)
  local loaders, told = loaders_of(list, workers), {}
  local function rows(self, whole)
    local step = loop.part(self, whole)
    local values, indices, bad = {}, step.order and indices_of(step), nil
    for k, column in ipairs(list) do
      local more
      if loaders[k] then values[k], more = loaders[k].take(self, whole)
      elseif core.type(column) == "array" then values[k] = array_rows(column, step, indices)
      else values[k] = list_rows(("column %s"):format(titles and titles[k] or k), column, step)
      end
      if more then bad = add_bad(bad, more) end
    end
    if bad then replace_bad(values, bad, step.last - step.first + 1, told) end
    return unpack(values, 1, #list)
  end
  local function stop()
    for _, loader in ipairs(loaders) do
      if loader then loader.stop() end
    end
  end
  return rows, stop
end

-- Calls f for each sample of a step and puts together what it returns, value by value. fields: how
-- the values are called.
local function from_function(f, fields)
  return function(self, whole)
    local step = loop.part(self, whole)
    local parts, n, width = {}, step.last - step.first + 1, nil
    for i = 1, n do
      local at = sample(step, step.first + i - 1)
      local got = { f(at) }
      width = width or #got
      args.check(#got > 0 and #got == width, "%s: sample %d must have as many values as those "
        .. "before it, and one at least, got %d", WHO, at, #got)
      for k = 1, width do
        parts[k] = parts[k] or {}
        parts[k][i] = got[k]
      end
    end
    for k = 1, width do
      parts[k] = put_together(("value %s"):format(fields and fields[k] or k), parts[k], n)
    end
    return unpack(parts, 1, width)
  end
end

-- A function from an index to the values of a sample in a list.
local function sample_of(list, fields)
  return function(i)
    local item = list[i]
    if type(item) ~= "table" then return item end
    if not fields then return unpack(item) end
    local values = {}
    for k, name in ipairs(fields) do
      values[k] = item[name]
      if values[k] == nil then
        core.fail("%s: sample %d must have what columns names, got none for %s", WHO, i,
          args.describe(name))
      end
    end
    return unpack(values, 1, #fields)
  end
end

-- How many samples there are, the function from a step to its values, what ends that, and how the
-- set is shuffled, where it has a way of its own.
local function read_source(o)
  local source = o.samples
  if type(source) == "function" then
    return args.integer(WHO, "n", o.n, 1), from_function(source, o.columns)
  end
  if o.n ~= nil then core.fail("%s: n is given with a function, and only then", WHO) end
  if o.rows then
    args.expect(WHO, "samples", source, "table")
    if #source == 0 then core.fail("%s: samples must be a list of samples, got none", WHO) end
    return #source, from_function(sample_of(source, o.columns), o.columns)
  end
  local list, titles = columns.read(WHO, source, o.columns)
  local n = columns.count(WHO, list, titles)
  local rows, stop = from_columns(list, titles, o.workers)
  return n, rows, stop, columns.draw(source)
end

-- Which of how many ranks takes part in a loop that is split over them. Each must get samples of
-- every batch.
local function read_ranks(o, n)
  if not o.shard then return 0, nil end
  local rank, size = core.world()
  if size == 1 then return 0, nil end
  local left = n % o.batch_size
  if math.min(o.batch_size, n) < size then
    core.fail("%s: batch_size must be at least the number of ranks, %d, where shard is true, "
      .. "got %d", WHO, size, math.min(o.batch_size, n))
  end
  if left > 0 and left < size and not o.drop_last then
    core.fail("%s: the last batch of an epoch must have a sample for each of the %d ranks, got %d; "
      .. "drop_last = true leaves it out", WHO, size, left)
  end
  return rank, size
end

--- Goes through single samples in batches: for epoch, i, images, labels in flow.data.batches(set,
-- { batch_size = 32 }) do. The samples are rows of columns, as for flow.data.loop; pictures among
-- them are decoded ahead on threads. With `rows` they are a list of samples, each a value or a
-- table of values; or a function gives the values of a sample from its number, 1 to n. Numbers
-- become float32 arrays, NdArrays of one shape are stacked, texts stay a list. The last batch of an
-- epoch is smaller where batch_size does not divide the samples. Without shuffle, batches of
-- NdArrays share their memory. Checkpoints save how many samples are done, and go on after them,
-- as they do for flow.data.loop, also with another batch_size. With shard each of several ranks
-- gets its part of every batch of batch_size samples, all in the same order: what an input with
-- distribute = flow.distribute.split(0) takes.
batches.batches = args.define(WHO, "Puts single samples together to batches.", {
  { "samples", "columns, pictures, or a function from a number to the values of a sample",
    keyed = true, type = "table|NdArray|function" },
  { "batch_size", "samples a batch", 1, type = "integer", least = 1 },
  { "shuffle", "whether every epoch has an order of its own", false },
  { "drop_last", "whether a last batch that is smaller is left out", false, type = "boolean" },
  { "epochs", "how often", 1 },
  { "workers", "threads that decode pictures ahead; 0: none", 2, type = "integer",
    range = "a whole number from 0 to 64" },
  { "seed", "what the order follows from; else flow.random.seed", args.none,
    type = "integer", least = 0 },
  { "columns", "which columns come, in this order: {\"images\", \"labels\"}; a plain table with "
    .. "several names needs it", args.none, type = "string[]" },
  { "rows", "whether samples is a list of samples, not of columns", false, type = "boolean" },
  { "shard", "whether each of several ranks gets its part of every batch", false,
    type = "boolean" },
  { "n", "how many samples a function has", args.none, type = "integer" },
  { "name", "what checkpoints keep the position under", "train" },
  returns = "fun(): integer, integer, ...",
}, function(o)
  if o.columns ~= nil then args.expect(WHO, "columns", o.columns, "table") end
  local n, rows, stop, draw = read_source(o)
  if o.drop_last and n < o.batch_size then
    core.fail("%s: batch_size must be at most the number of samples, %d, where drop_last is true, "
      .. "got %d", WHO, n, o.batch_size)
  end
  local rank, ranks = read_ranks(o, n)
  return loop.new(WHO, { name = o.name, rank = rank, ranks = ranks,
    epochs = o.epochs, shuffle = o.shuffle, items = n,
    size = o.batch_size, drop_last = o.drop_last, own_seed = o.seed, columns = true, stop = stop,
    draw = draw,
    rows = function(self, first, last) return rows(self, loop.step(self, first, last)) end })
end)

return batches
