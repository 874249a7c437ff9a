-- What flow.fit goes through: the batches of a data set, epoch by epoch.
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local batches = require "jfl.data.batches"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local lazy = require "jfl.data.lazy"
local loop = require "jfl.data.loop"
local typing = require "jfl.job.typing"

local feed = {}

local SAMPLES = 32               -- a batch, where nothing says how many

local Feed = {}
Feed.__index = Feed

-- ---- data sets ----

-- Whether the items of columns are single samples: where a job takes a batch of them.
local function are_samples(list, job)
  local input = job._inputs[1]
  local column = list[1]
  if core.type(column) ~= "array" or not input then return true end
  return #column.shape == #input.type.shape
end

-- The rows that a job wants of each batch, or nil where it takes any number.
local function rows_wanted(job)
  local first = job._inputs[1] and job._inputs[1].type.shape[1]
  return first and first > 0 and first or nil
end

local function from_set(who, source, job, o)
  local list, titles = columns.read(who, source, o.columns)
  local shared = { epochs = o.epochs, name = o.name, shuffle = o.shuffle, columns = o.columns }
  local self = { titles = titles and type(titles[1]) == "string" and titles or false }
  if o.batch_size or are_samples(list, job) then
    shared.batch_size = o.batch_size or rows_wanted(job) or SAMPLES
    shared.drop_last = not o.batch_size and rows_wanted(job) ~= nil
    self.loop = batches.batches(source, shared)
  else
    self.loop = loop.loop(source, shared)
  end
  return self
end

-- What a step of a loop gives behind its epoch and number, which are noted.
local function values(self, epoch, _, ...)
  self.epoch = epoch
  return ...
end

local function next_of_loop(self)
  local position = self.loop
  if position.index == position.items and not self.fresh then return nil end
  self.fresh, self.was_epoch, self.was = false, position.epoch, position.index
  return values(self, position())
end

-- ---- what a batch is made of ----

-- The shape of a list's items; nil where it is not known.
local function item_shape(column)
  local known, first = lazy.of(column), column[1]
  local spec = known and known.spec
  if spec and spec.height then
    local shape = { spec.height, spec.width, spec.channels }
    return spec.planes and { shape[3], shape[1], shape[2] } or shape, spec.dtype
  end
  local shape = {}
  if core.type(first) == "array" then return first.shape, first.dtype end
  while type(first) == "table" do shape[#shape + 1], first = #first, first[1] end
  return type(first) == "number" and shape or nil, "float32"
end

local function type_of(who, column, title, skip)
  local shape, dtype
  if core.type(column) == "array" then
    shape, dtype = { unpack(column.shape, 1 + skip) }, column.dtype
  else
    shape, dtype = item_shape(column)
  end
  if not shape and type(column[1]) == "string" and not lazy.of(column) then
    core.fail("%s: column %s has texts such as '%s', where numbers are wanted: int32 from 0 for "
      .. "classes, as flow.data.csv's categories gives", who, tostring(title), column[1])
  end
  args.check(shape, "%s: inputs is missing: column %s does not say what a batch of it is; state "
    .. "all, { flow.float32 { -1, 28, 28 }, flow.int32 { -1 } }", who, tostring(title))
  if dtype == "float64" then dtype = "float32" end         -- as layers' variables are
  return typing.Numpy.Placeholder({ -1, unpack(shape) }, { dtype = dtype })
end

--- The types of the values of a batch of a data set, of any number of rows, and the names of its
-- columns.
function feed.types(who, source, o)
  if args.is_callable(source) and core.type(source) ~= "array" then
    core.fail("%s: inputs is missing: an iterator does not say what a batch is; { "
      .. "flow.float32 { -1, 28, 28 }, flow.int32 { -1 } }", who)
  end
  local list, titles = columns.read(who, source, o.columns)
  local skip, types = columns.in_batches(source) and 2 or 1, {}
  columns.count(who, list, titles)
  for i, column in ipairs(list) do
    types[i] = type_of(who, column, titles and titles[i] or i, skip)
  end
  return types, titles
end

-- ---- iterators ----

-- What an iterator gives behind its first value, which says where it is.
local function behind(self, control, ...)
  self.control = control
  if control == nil then return nil end
  return ...
end

local function next_of_iterator(self)
  return behind(self, self.iterate(self.state, self.control))
end

local function begin_iterator(self, epoch)
  local source = self.source
  if type(source) == "function" then
    self.iterate, self.state, self.control = source(epoch)
    args.must(args.is_callable(self.iterate), self.iterate,
      "fit: a function that gives data must return an iterator such as flow.zip(a, b)")
  else
    self.iterate, self.state, self.control = source, nil, nil
  end
end

-- ---- both ----

--- What goes through `source` for o.epochs: a data set, an NdArray or a list of columns, of which
-- o.batch_size samples make a batch, or whose items are batches; flow.zip(...); or a function of
-- the epoch that gives such an iterator.
function feed.new(who, source, job, o)
  local meta = metatable(source)
  local iterates = type(source) == "function"
    or type(source) == "table" and type(meta) == "table" and meta.__call
  local self = iterates and { source = source, epoch = 0, titles = false }
    or from_set(who, source, job, o)
  self.epochs, self.take = o.epochs, iterates and next_of_iterator or next_of_loop
  return setmetatable(self, Feed)
end

--- Begins the next epoch, or what is left of one, and gives its number in `epoch`; false after the
-- last.
function Feed:begin()
  local position = self.loop
  if position then
    self.fresh, self.epoch = true, position.epoch
    if position.index == position.items then self.epoch = self.epoch + 1 end
    return position.n > 0
  end
  self.epoch = self.epoch + 1
  if self.epoch > self.epochs then return false end
  begin_iterator(self, self.epoch)
  return true
end

--- How many batches the epoch has from here on, or nil.
function Feed:left()
  local position = self.loop
  if position then
    local each = math.ceil(position.items / position.size)
    return position.n % each == 0 and each or position.n % each
  end
  local iterate = self.iterate
  return type(iterate) == "table" and type(iterate.n) == "number" and iterate.n or nil
end

--- The values of the next batch; nil at the end of the epoch.
function Feed:next() return self.take(self) end

--- Counts the last batch as not taken, for checkpoints.
function Feed:undo()
  local position = self.loop
  if position then position.index = position.epoch == self.was_epoch and self.was or 0 end
end

--- Ends it before its end.
function Feed:close()
  if self.loop then self.loop:close() end
end

--- The positions of the values of a batch that a job takes: of those with the names of its inputs,
-- or else of the first ones.
function feed.taken(titles, job)
  local place, by_name, by_order = {}, {}, {}
  for i, title in ipairs(titles or {}) do place[title] = i end
  for i, input in ipairs(job._inputs) do by_name[i], by_order[i] = place[input.name], i end
  return #by_name == #by_order and by_name or by_order
end

return feed
