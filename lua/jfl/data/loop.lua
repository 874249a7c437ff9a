-- flow.data.loop: goes through a data set, epoch by epoch, from where a checkpoint says.
local args = require "jfl.base.args"
local bit = require "bit"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local job = require "jfl.job.job"
local warn = require "jfl.base.warn"

local loop = {}

local MOST = 2 ^ 53          -- of a saved number: larger ones are not written as they are read

-- live: unfinished loops by name; current: the loop that handed out an item last. A loop that is
-- made within an item of another belongs to that item: it is neither counted nor saved, since a
-- resumed run continues after the item, and its name is free once the outer loop goes on or ends.
local live, current = {}, false

-- By name: how many loops were made, the last of them, and the saved position of a loop that is not
-- made yet.
local made, last, pending = {}, {}, {}

job.on_clear(function() live, current, made, last, pending = {}, false, {}, {}, {} end)

local Loop = {}

local methods = {}

-- How many steps of `size` items are made of n of them.
local function steps(self, n)
  return self.drop_last and math.floor(n / self.size) or math.ceil(n / self.size)
end

function Loop:__index(key)
  if key ~= "n" then return methods[key] end
  local left = (self.epochs - self.epoch) * steps(self, self.items)
  return math.max(0, left + steps(self, self.items - self.index))
end

function Loop:__tostring()
  return ("loop '%s': epoch %d of %d, item %d of %d"):format(self.name, self.epoch, self.epochs,
    self.index, self.items)
end

-- A 32-bit word other than 0 that depends on every bit of the seed.
local function mixed(seed)
  local x = (seed % 2 ^ 32 + math.floor(seed / 2 ^ 32)) % 2 ^ 32
  for _ = 1, 4 do
    local word = bit.tobit((x * 1664525 + 1013904223) % 2 ^ 32)
    x = bit.bxor(word, bit.rshift(word, 15)) % 2 ^ 32
  end
  return x ~= 0 and bit.tobit(x) or 1
end

-- The numbers 1 to n in an order that the seed decides, by Marsaglia's xorshift generator.
local function shuffled(n, seed)
  local order, word = {}, mixed(seed)
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    word = bit.bxor(word, bit.lshift(word, 13))
    word = bit.bxor(word, bit.rshift(word, 17))
    word = bit.bxor(word, bit.lshift(word, 5))
    local k = math.floor(word % 2 ^ 32 * 2 ^ -32 * i) + 1
    order[i], order[k] = order[k], order[i]
  end
  return order
end

--- The seed of an epoch's random numbers; `seed` is that of its loop.
function loop.epoch_seed(self, epoch, seed)
  local x = seed
  for _, byte in ipairs { epoch, self.name:byte(1, 64) } do x = (x * 31 + byte) % 2 ^ 47 end
  return x
end

--- The seed for an epoch that begins now.
function loop.new_seed(self) return (self.own_seed or core.get("seed")) % 2 ^ 47 end

--- The order of an epoch's items.
function loop.order(self, epoch, seed)
  return shuffled(self.items, loop.epoch_seed(self, epoch, seed))
end

--- The step from item `first` to `final` of the present epoch: epoch, first, last, order (or nil),
-- seed.
function loop.step(self, first, final)
  return { epoch = self.epoch, first = first, last = final, order = self.order or nil,
    seed = self.seed or loop.new_seed(self) }
end

--- The step that comes after one, or nil: what it will be unless another seed is set before the
-- next epoch.
function loop.following(self, step)
  local s, done = { epoch = step.epoch, order = step.order, seed = step.seed }, step.last
  if steps(self, self.items - done) == 0 then
    s.epoch, done = s.epoch + 1, 0
    if s.epoch > self.epochs then return nil end
    s.seed = loop.new_seed(self)
    s.order = self.shuffle and loop.order(self, s.epoch, s.seed) or nil
  end
  s.first, s.last = done + 1, math.min(done + self.size, self.items)
  return s
end

--- The part of a step that this rank has of a loop which is split over the ranks: of n items on k
-- ranks the first n % k ranks have one more than the others. Of another loop, the step.
function loop.part(self, step)
  if not self.ranks then return step end
  local n = step.last - step.first + 1
  local each, more = math.floor(n / self.ranks), n % self.ranks
  local first = step.first + self.rank * each + math.min(self.rank, more)
  return { epoch = step.epoch, first = first, order = step.order, seed = step.seed,
    last = first + each - (self.rank < more and 0 or 1) }
end

-- Draws the order of this epoch. Its seed is saved with the position, as that of the session may
-- change.
local function new_order(self)
  self.seed = self.seed or loop.new_seed(self)
  return loop.order(self, self.epoch, self.seed)
end

-- The columns' rows `first`, of which a loop over items asks for one.
local function row(self, first)
  local i, values = self.order and self.order[first] or first, {}
  for k, column in ipairs(self.columns) do values[k] = column[i] end
  return unpack(values, 1, #self.columns)
end

-- Frees the names of loops that were made within an item of this one, and of those within theirs.
local function free_within(self)
  for name, other in pairs(live) do
    if other.within == self then
      live[name] = nil
      free_within(other)
    end
  end
end

-- Moves to the next step. Returns its first and last item.
local function next_step(self)
  free_within(self)
  current, self.begun = self, true
  if steps(self, self.items - self.index) == 0 then
    self.epoch, self.index, self.order, self.seed = self.epoch + 1, 0, false, false
  end
  if self.shuffle then self.order = self.order or new_order(self) end
  local first = self.index + 1
  local final = math.min(self.index + self.size, self.items)
  self.index = steps(self, self.items - final) == 0 and self.items or final
  return first, final
end

--- Returns the epoch, the step's number and its columns; nil at the end.
function Loop:__call()
  if not self.columns then return nil end
  if self.n == 0 then return self:close() end
  local first, final = next_step(self)
  return self.epoch, math.ceil(final / self.size), self.rows(self, first, final)
end

--- Ends a loop that was left by a break, and so frees its name.
function methods:close()
  if getmetatable(self) ~= Loop then core.fail("close: call it with a colon: loop:close()") end
  if live[self.name] == self then live[self.name] = nil end
  free_within(self)
  self.epoch, self.index = math.max(self.epoch, self.epochs), self.items
  self.columns, self.order = false, false
  if self.stop then self.stop() end
end

-- ---- what is kept ----

local function record_of(self)
  return ("%d %d %d %d %s"):format(self.count, self.epoch, self.index, self.items,
    self.seed and ("%.0f"):format(self.seed) or "-")
end

--- The position of every loop, as text by name.
function loop.save()
  local texts = {}
  for name, record in pairs(pending) do texts[name] = record_of(record) end
  for name, self in pairs(last) do texts[name] = record_of(self) end
  return texts
end

local function parse(text)
  local count, epoch, index, items, seed =
    text:match("^(%d+) (%d+) (%d+) (%d+) (%-?%d*)$")
  local r = { count = tonumber(count), epoch = tonumber(epoch), index = tonumber(index),
    items = tonumber(items), seed = tonumber(seed) or false }
  if not seed or not (r.seed or seed == "-") then return nil end
  local most = math.max(r.count, r.epoch, r.items, math.abs(r.seed or 0))
  if r.count > 0 and r.epoch > 0 and r.index <= r.items and most <= MOST then return r end
end

-- Returns what differs between the data set and the saved one; within an epoch nothing may.
local function mismatch(self, record)
  if record.index == 0 or record.index == record.items then return nil end
  local where = ("the checkpoint was saved behind item %d of %d"):format(record.index, record.items)
  if record.items ~= self.items then
    return ("%s, and now there are %d items"):format(where, self.items)
  end
  if (record.seed ~= false) ~= self.shuffle then
    return ("%s with shuffle = %s, and now it is %s"):format(where, tostring(not self.shuffle),
      tostring(self.shuffle))
  end
end

local function move(self, record)
  local at_end = record.index == record.items
  self.count, self.epoch, self.order = record.count, record.epoch, false
  self.index = at_end and self.items or record.index
  self.seed = self.shuffle and record.seed
end

--- Returns a function that moves loops to the positions that loop.save returned as texts, including
-- loops that are not made yet; or nil, the name whose text is wrong, and the reason.
function loop.restorer(texts)
  local records = {}
  for name, text in pairs(texts) do
    local record = parse(text)
    if not record then return nil, name, ("it makes no sense: '%s'"):format(text) end
    local now = live[name]
    local wrong = now and now.count and mismatch(now, record)
    if wrong then return nil, name, wrong end
    records[name] = record
  end
  return function()
    for name, record in pairs(records) do
      local now = live[name]
      if now and now.count and now.count >= record.count then
        move(now, record)
        made[name] = record.count
      else
        if now and now.count then now:close() end
        pending[name] = record
        made[name] = math.min(made[name] or 0, record.count - 1)
        last[name] = nil
      end
    end
  end
end

-- ---- making one ----

-- The loop within whose item a new loop is made, or nil.
local function enclosing()
  local self = current
  while self and live[self.name] ~= self do self = self.within end
  if self then return self end
  for _, other in pairs(live) do
    if other.begun then return other end
  end
end

-- Moves a loop to its saved position, unless it is made within another's item.
local function resume(who, self)
  local name = self.name
  local record, count = pending[name], (made[name] or 0) + 1
  self.count = count
  local wrong = record and count == record.count and mismatch(self, record)
  if wrong then
    core.fail("%s: loop '%s': %s; another name starts a loop anew", who, name, wrong)
  end
  made[name] = count
  if record and count < record.count then return self:close() end
  pending[name], last[name] = nil, self
  if not record then return end
  move(self, record)
  if self.n > 0 then return end
  self:close()
  warn.say("loop '%s': was at its end in the checkpoint that was loaded, so it gives nothing; more "
    .. "epochs continue it, another name starts anew", name)
end

--- Makes a loop of o, with the options that data.loop and data.batches share, and: items, how many
-- there are; size, how many of them a step takes; drop_last; columns, what rows needs;
-- rank and ranks, of a loop that is split over several; rows(loop, first, last), which gives a
-- step's values; own_seed, or nothing for the session's; stop(), or nothing, which the end of the
-- loop calls.
function loop.new(who, o)
  args.integer(who, "epochs", o.epochs, 1)
  args.expect(who, "shuffle", o.shuffle, "boolean")
  args.name(who, "name", o.name)
  if live[o.name] then
    core.fail("%s: a loop named '%s' is not at its end; give this one a name of its own, or end "
      .. "the other, if a break left it, with flow.data.close_loop('%s')", who, o.name, o.name)
  end
  local self = setmetatable({ name = o.name, epochs = o.epochs, shuffle = o.shuffle, epoch = 1,
    index = 0, items = o.items, size = o.size, drop_last = o.drop_last, rows = o.rows,
    rank = o.rank or 0, ranks = o.ranks or false, columns = o.columns,
    stop = o.stop or false, own_seed = o.own_seed or false, count = false,
    order = false, seed = false, begun = false, within = enclosing() or false }, Loop)
  if not self.within then resume(who, self) end
  if self.columns then live[o.name] = self end
  return self
end

--- Goes through a data set: for epoch, i, images, labels in flow.data.loop(train, { epochs = 20 })
-- do. Items are rows of NdArrays or of lists of one length. A Lua table keeps no order of its
-- names, so `columns` says in which order those of a plain table come; a list of pairs, such as
-- { "state", states }, and the data sets of flow.data have one. With shuffle, the order follows
-- from flow.random.seed, the loop's name and the epoch. Every checkpoint saves the position of the
-- loop under its name. Once that is loaded, before the loop is made or after, the loop continues
-- after the item that was handed out last: so save when an item is done. A loop that is made inside
-- an item of another belongs to that item. loop:close() ends one that a break left.
loop.loop = args.define("data.loop", "Goes through a data set, from where a checkpoint says.", {
  { "source", "a data set, or a list of NdArrays", keyed = true, type = "table|NdArray" },
  { "epochs", "how often", 1 },
  { "name", "what checkpoints keep the position under", "train" },
  { "shuffle", "whether every epoch has an order of its own", false },
  { "columns", "which columns come, in this order: {\"state\", \"action\"}; a plain table with "
    .. "several names needs it", args.none, type = "string[]" },
  returns = "fun(): integer, integer, ...",
}, function(o)
  local who = "data.loop"
  local list, titles = columns.read(who, o.source, o.columns)
  o.items, o.columns = columns.count(who, list, titles), list
  o.size, o.drop_last, o.rows = 1, false, row
  return loop.new(who, o)
end)

--- Ends the loop of that name, as loop:close() does, and returns whether there was one.
loop.close_loop = args.define("data.close_loop", "Ends a loop that a break left.", {
  { "name", "the loop's name", "train" },
  returns = "boolean",
}, function(o)
  local found = live[args.expect("data.close_loop", "name", o.name, "string")]
  if found then found:close() end
  return found ~= nil
end)

return loop
