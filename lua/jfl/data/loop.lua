-- flow.data.loop: goes through a data set, epoch by epoch, from where a checkpoint says.
local args = require "jfl.base.args"
local bit = require "bit"
local metatable = require "jfl.base.metatable"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local job = require "jfl.job.job"
local stack = require "jfl.base.stack"
local warn = require "jfl.base.warn"

local loop = {}

local MOST = 2 ^ 53          -- of a saved number: larger ones are not written as they are read

-- The loops that are not at their end, and how many were made.
local open, serial = setmetatable({}, { __mode = "k" }), 0

-- By name, of loops that no item of another encloses: how many were made, the last of them, and
-- the saved positions, by number, of loops that are not made yet.
local made, newest, pending = {}, {}, {}

job.on_clear(function()
  open, made, newest, pending = setmetatable({}, { __mode = "k" }), {}, {}, {}
end)

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

--- The numbers 1 to n in an order that the seed decides, by Marsaglia's xorshift generator.
function loop.shuffled(n, seed)
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
  local own = loop.epoch_seed(self, epoch, seed)
  if self.draw then return self.draw(own) end
  return loop.shuffled(self.items, own)
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

-- ---- which loops are under way ----

-- Whether a value on the stack is the loop, or a bar of flow.progress that shows it.
local function leads_to(value, self)
  if type(value) == "table" then value = rawget(value, "iterate") or value end
  return rawequal(value, self)
end

local function is_of_a_for(self)
  return stack.generator(function(value) return leads_to(value, self) end) ~= nil
end

-- Whether a loop is under way. One that is made within an item of another ends with the item; that
-- of a `for` which a break left is on no stack.
local function is_in_use(self)
  local outer = self.within
  if not self.columns or outer and (outer.taken ~= self.at or not is_in_use(outer)) then
    return false
  end
  return not self.by_for or is_of_a_for(self)
end

-- The loop within whose item a new loop is made: the last made of those under way; or nil.
local function enclosing()
  local found
  for self in pairs(open) do
    if not self.endless and self.taken > 0 and (not found or self.serial > found.serial)
      and is_in_use(self) then
      found = self
    end
  end
  return found
end

-- ---- going on ----

-- Moves to the next step. Returns its first and last item.
local function next_step(self)
  if self.taken == 0 then
    self.by_for = is_of_a_for(self)
  end
  self.taken = self.taken + 1
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

--- Ends a loop that was left by a break.
function methods:close()
  if metatable(self) ~= Loop then core.fail("close: call it with a colon: loop:close()") end
  open[self] = nil
  self.epoch, self.index = math.max(self.epoch, self.epochs), self.items
  self.columns, self.order = false, false
  if self.stop then self.stop() end
end

-- ---- what is kept ----

local function text_of(record)
  return ("%d %d %.0f %.0f %s"):format(record.count, record.epoch, record.index, record.items,
    record.seed and ("%.0f"):format(record.seed) or "-")
end

-- The loops of a name that go on, as far as one can tell, and that no item of another encloses:
-- those under way, and the last, which a break may have left for good or to save.
local function used(name)
  local list = {}
  for self in pairs(open) do
    local goes_on = self.count and (self == newest[name] or is_in_use(self))
    if self.name == name and goes_on then list[#list + 1] = self end
  end
  table.sort(list, function(a, b) return a.count < b.count end)
  return list
end

-- The positions to save of the loops of a name: those of the loops that are not at their end, and
-- that of the newest loop even if it is.
local function records_of(name)
  local list, last = used(name), newest[name]
  if last and not last.columns then list[#list + 1] = last end
  for _, record in pairs(pending[name] or {}) do list[#list + 1] = record end
  table.sort(list, function(a, b) return a.count < b.count end)
  return list
end

--- The positions of all loops, as text by name.
function loop.save()
  local texts = {}
  for _, names in ipairs { newest, pending } do
    for name in pairs(names) do
      local list = records_of(name)
      for i, record in ipairs(list) do list[i] = text_of(record) end
      texts[name] = table.concat(list, ", ")
    end
  end
  return texts
end

local function parse_one(text)
  local count, epoch, index, items, seed =
    text:match("^(%d+) (%d+) (%d+) (%d+) (%-?%d*)$")
  local r = { count = tonumber(count), epoch = tonumber(epoch), index = tonumber(index),
    items = tonumber(items), seed = tonumber(seed) or false }
  if not seed or not (r.seed or seed == "-") then return nil end
  local most = math.max(r.count, r.epoch, r.items, math.abs(r.seed or 0))
  if r.count > 0 and r.epoch > 0 and r.index <= r.items and most <= MOST then return r end
end

-- The positions of the loops of one name, in the order in which those were made; nil: none.
local function parse(text)
  local list = {}
  for part in (text .. ", "):gmatch("(.-), ") do
    local record, before = parse_one(part), list[#list]
    if not record or before and before.count >= record.count then return nil end
    list[#list + 1] = record
  end
  return list
end

-- Returns what differs between the data set and the saved one; within an epoch nothing may.
local function mismatch(self, record)
  if record.index == 0 or record.index == record.items then return nil end
  local where = ("the checkpoint was saved behind item %.0f of %.0f"):format(record.index,
    record.items)
  if self.endless and record.items ~= self.items then
    return ("the checkpoint was saved behind item %.0f of a data set of another size"):format(
      record.index)
  end
  if record.items ~= self.items then
    return ("%s, and now there are %d items"):format(where, self.items)
  end
  if (record.seed ~= false) ~= self.shuffle then
    return ("%s with shuffle = %s, and now it is %s"):format(where, tostring(not self.shuffle),
      tostring(self.shuffle))
  end
end

local function move(self, record)
  self.count, self.epoch, self.order = record.count, record.epoch, false
  self.index = record.index == record.items and self.items or record.index
  self.seed = self.shuffle and record.seed
end

-- Says that a loop does not begin at its first item; rank 0 does so for all.
local function tell(self, fmt, ...)
  if core.world() == 0 then warn.say("loop '%s': " .. fmt, self.name, ...) end
end

local function tell_where(self)
  if self.n == 0 then
    tell(self, "was at its end in the checkpoint that was loaded, so it gives nothing; more epochs "
      .. "continue it, another name starts anew")
  elseif self.endless then
    tell(self, "goes on where the checkpoint was saved, behind item %.0f", self.index)
  elseif self.epoch > 1 or self.index > 0 then
    tell(self, "goes on where the checkpoint was saved, in epoch %d of %d behind item %d of %d",
      self.epoch, self.epochs, self.index, self.items)
  end
end

-- The loops under way to which records of their name apply, by record. What was last then is the
-- last now, if that was not made before it.
local function holders(name, records)
  local found, by_count, newest_one = {}, {}, nil
  for _, self in ipairs(used(name)) do by_count[self.count], newest_one = self, self end
  for i, record in ipairs(records) do
    local self = by_count[record.count]
    if not self and i == #records and newest_one and newest_one.count > record.count then
      self = newest_one
    end
    found[record] = self
  end
  return found
end

-- Moves the loops of a name to their records, or keeps these for loops that are not made yet.
-- Loops that were not under way then are ended.
local function restore(name, records)
  local found, moved, waiting = holders(name, records), {}, {}
  local last, first = records[#records], made[name] or 0
  for _, record in ipairs(records) do
    local self = found[record]
    if self then
      moved[self] = true
      move(self, record)
      tell_where(self)
    else
      waiting[record.count], first = record, math.min(first, record.count - 1)
    end
  end
  for _, self in ipairs(used(name)) do
    if not moved[self] then self:close() end
  end
  made[name] = found[last] and last.count or first
  pending[name] = not found[last] and waiting or nil
  newest[name] = found[last]
end

--- Returns a function that moves loops to the positions that loop.save returned as texts, including
-- loops that are not made yet; or nil, the name whose text is wrong, and the reason.
function loop.restorer(texts)
  local records = {}
  for _, name in ipairs(args.keys(texts)) do
    local list = parse(texts[name])
    if not list then return nil, name, ("it makes no sense: '%s'"):format(texts[name]) end
    for record, self in pairs(holders(name, list)) do
      local wrong = mismatch(self, record)
      if wrong then return nil, name, wrong end
    end
    records[name] = list
  end
  return function()
    for name, list in pairs(records) do restore(name, list) end
  end
end

-- ---- making one ----

-- Gives a loop its number among those of its name, and moves it to the position that is kept for
-- it. One that was made before those that were under way when the checkpoint was saved was at its
-- end.
local function resume(who, self)
  local name = self.name
  local records, count = pending[name] or {}, (made[name] or 0) + 1
  local record = records[count]
  self.count = count
  local wrong = record and mismatch(self, record)
  if wrong then
    core.fail("%s: loop '%s': %s; another name starts a loop anew", who, name, wrong)
  end
  made[name], newest[name], records[count] = count, self, nil
  if next(records) == nil then pending[name] = nil end
  if not record and not pending[name] then return end
  if record then move(self, record) else self.epoch, self.index = self.epochs, self.items end
  if record or records[count + 1] then tell_where(self) end
  if self.n == 0 then self:close() end
end

--- Makes a loop of o, with the options that data.loop and data.batches share, and: items, how many
-- there are; size, how many of them a step takes; drop_last; columns, what rows needs; rank and
-- ranks, of a loop that is split over several; rows(loop, first, last), which gives a step's
-- values; own_seed, or nothing for the session's; stop(), or nothing, which the end of the loop
-- calls; draw(seed), or nothing, which gives the order of an epoch; endless, of a loop whose one
-- epoch has no end.
function loop.new(who, o)
  args.integer(who, "epochs", o.epochs, 1)
  args.name(who, "name", o.name)
  local self = setmetatable({ name = o.name, epochs = o.epochs, shuffle = o.shuffle, epoch = 1,
    index = 0, items = o.items, size = o.size, drop_last = o.drop_last, rows = o.rows,
    rank = o.rank or 0, ranks = o.ranks or false, columns = o.columns,
    stop = o.stop or false, own_seed = o.own_seed or false, count = false, draw = o.draw or false,
    endless = o.endless or false,
    order = false, seed = false, taken = 0, by_for = false,
    within = not o.endless and enclosing() or false }, Loop)
  serial = serial + 1
  self.serial, self.at = serial, self.within and self.within.taken
  if not self.within then resume(who, self) end
  if self.columns then open[self] = true end
  return self
end

--- Goes through a data set: for epoch, i, images, labels in flow.data.loop(train, { epochs = 20 })
-- do. Items are rows of NdArrays or of lists of one length. A Lua table keeps no order of its
-- names, so `columns` says in which order those of a plain table come; a list of pairs, such as
-- { "state", states }, and the data sets of flow.data have one. With shuffle, the order follows
-- from flow.random.seed, the loop's name and the epoch. Every checkpoint saves the position of the
-- loop under its name. Once that is loaded with { resume = true }, before the loop is made or
-- after, the loop continues after the item that was handed out last, and says so: save when an item
-- is done. Loops of one name are told apart by the order in which they were made. One that is made
-- inside an item of another belongs to that item, and one that a break left is done; of loops that
-- no `for` goes through, loop:close() says so.
loop.loop = args.define("data.loop", "Goes through a data set, from where a checkpoint says.", {
  { "source", "a data set, or a list of NdArrays", keyed = true, type = "table|NdArray" },
  { "epochs", "how often", 1 },
  { "name", "what checkpoints keep the position under", "train" },
  { "shuffle", "whether every epoch has an order of its own", false },
  { "columns", "which columns come, in this order: {\"state\", \"action\"}; a plain table with "
    .. "several names needs it", args.none, type = "string[]" },
  returns = "fun(): integer, integer, ...",
}, function(o, who)
  local list, titles = columns.read(who, o.source, o.columns)
  o.items, o.columns = columns.count(who, list, titles), list
  o.size, o.drop_last, o.rows = 1, false, row
  return loop.new(who, o)
end)

--- Ends the loops of that name, as loop:close() does, and returns whether there were any.
loop.close_loop = args.define("data.close_loop", "Ends loops that were not gone through.", {
  { "name", "the loops' name", "train", type = "string" },
  returns = "boolean",
}, function(o)
  local found = {}
  for self in pairs(open) do
    if self.name == o.name then found[#found + 1] = self end
  end
  for _, self in ipairs(found) do self:close() end
  return #found > 0
end)

return loop
