-- flow.data.webdataset: samples in tar archives.
---@flow data.webdataset
local args = require "jfl.base.args"
local columns = require "jfl.data.columns"
local core = require "jfl.core"
local lazy = require "jfl.data.lazy"
local loop = require "jfl.data.loop"
local npy = require "jfl.nd.npy"
local orders = require "jfl.data.orders"
local pictures = require "jfl.data.pictures"
local plain = require "jfl.base.plain"
local sounds = require "jfl.data.sounds"
local warn = require "jfl.base.warn"

local shards = {}

local WHO = "data.webdataset"
local MOST_SHARDS = 100000
local MOST_CLASS = 20            -- bytes of a .cls

-- ---- which files ----

-- The names that a pattern such as "a-{000..009}.tar" stands for; those of a range have as many
-- digits as its first.
local function expand(pattern, list)
  local head, low, high, tail = pattern:match("^(.-){(%d+)%.%.(%d+)}(.*)$")
  if not head then
    list[#list + 1] = pattern
    return list
  end
  local from, to = tonumber(low), tonumber(high)
  args.check(from <= to and to - from < MOST_SHARDS and #low <= 9 and #high <= 9,
    "%s: shards: {%s..%s} must go up, by less than %d", WHO, low, high, MOST_SHARDS)
  for i = from, to do expand(("%s%0" .. #low .. "d%s"):format(head, i, tail), list) end
  if #list > MOST_SHARDS then core.fail("%s: shards must be at most %d", WHO, MOST_SHARDS) end
  return list
end

local function shard_paths(given)
  local list = {}
  if type(given) == "string" then given = { given } end
  for i, pattern in ipairs(args.expect(WHO, "shards", given, "string or table")) do
    expand(args.expect(WHO, ("shards[%d]"):format(i), pattern, "string"), list)
  end
  if #list == 0 then core.fail("%s: shards must be names of tar files, got none", WHO) end
  return list
end

-- ---- samples ----

-- The key and the extension of a member: its name up to the first dot behind the folder, and what
-- follows that. nil: it is none of a sample.
local function parts_of(name)
  local folder, file = name:match("^(.-)([^/]*)$")
  local base, ending = file:match("^([^.]+)%.(.+)$")
  if base then return folder .. base, ending:lower() end
end

-- The samples of a shard, each { key, [ending] = member }, in their order: members of one key that
-- lie side by side.
local function samples_of(path, names)
  local list, now = {}, nil
  for i, name in ipairs(names) do
    local key, ending = parts_of(name)
    if key and (not now or now.key ~= key) then
      now = { key = key, members = {} }
      list[#list + 1] = now
    end
    if key and now.members[ending] then
      core.fail("%s: %s: '%s.%s' must be there once in a sample, got it twice", WHO, path, key,
        ending)
    end
    if key then now.members[ending] = i end
  end
  return list
end

-- The first of the endings that a sample has, of a column such as "jpg;png".
local function member_of(sample, column)
  for ending in column:gmatch("[^;]+") do
    local member = sample.members[ending]
    if member then return member, ending end
  end
end

-- The endings of a sample, in the order of its members.
local function endings_of(sample)
  local list = {}
  for ending in pairs(sample.members) do list[#list + 1] = ending end
  table.sort(list, function(a, b) return sample.members[a] < sample.members[b] end)
  return list
end

-- ---- what the columns are ----

local PICTURES = { jpg = true, jpeg = true, png = true }

local function text_of(bytes) return bytes end

local function class_of(bytes, what)
  local text = bytes:match("^%s*(%-?%d+)%s*$")
  if text and #bytes <= MOST_CLASS then return tonumber(text) end
  core.fail("%s: a class must be a whole number, got '%s'", what,
    (bytes:sub(1, MOST_CLASS):gsub("[^ -~]", "?")))
end

local function json_of(bytes, what)
  local value = plain.read(bytes)
  if value == nil then core.fail("%s: it is no JSON", what) end
  return value
end

local function array_of(bytes, what) return npy.decode(what, bytes) end

local DECODERS = { txt = text_of, text = text_of, cls = class_of, json = json_of, npy = array_of }

-- What is known of a column beside its index.
local function about_of(column, o)
  local ending = column:match("[^;]+")
  if PICTURES[ending] then
    args.check(o.size ~= nil, "%s: size must be given for pictures: {size = 224}", WHO)
    return pictures.read_column(WHO, o)
  end
  if ending == "wav" then
    args.check(o.seconds ~= nil, "%s: seconds must be given for sounds: {seconds = 2}", WHO)
    return sounds.read_column(WHO, o)
  end
  if not DECODERS[ending] then
    core.fail("%s: columns: '%s' must be jpg, jpeg, png, wav or one of %s, got something else", WHO,
      column, args.names_of(DECODERS))
  end
  return { decode = DECODERS[ending], bad = "error", as_list = ending == "json",
    text = function(n) return ("%d samples of .%s"):format(n, ending) end }
end

-- ---- the index ----

-- The member for each column of a sample; nil and the column that it lacks, or whose member is
-- empty.
local function members_of(sample, wanted, sizes)
  local list = {}
  for k, column in ipairs(wanted) do
    list[k] = member_of(sample, column)
    if not list[k] then return nil, ("has no .%s"):format(column) end
    if sizes[list[k]] == 0 then return nil, ("has an empty .%s"):format(column) end
  end
  return list
end

-- Adds the samples of a shard to the indices of the columns, which are those of its first sample
-- where none are wanted. Returns the columns, and how many samples were added.
local function add_shard(indices, wanted, paths, file, skips)
  local names, offsets, sizes = core.pack(paths[file], "tar", WHO)
  local samples, added = samples_of(paths[file], names), 0
  if not wanted and samples[1] then wanted = endings_of(samples[1]) end
  for _, sample in ipairs(samples) do
    local members, lacks = members_of(sample, wanted, sizes)
    if not members and not skips then
      core.fail("%s: %s: sample '%s' %s; bad = \"skip\" leaves such samples out", WHO, paths[file],
        sample.key, lacks)
    end
    if members then added = added + 1
    else warn.say("%s: left out: %s: sample '%s' %s", WHO, paths[file], sample.key, lacks) end
    for k, member in ipairs(members or {}) do
      local index = indices[k]
        or { paths = paths, files = {}, offsets = {}, sizes = {}, names = {} }
      local n = #index.files + 1
      index.files[n], index.offsets[n], index.sizes[n] = file, offsets[member], sizes[member]
      index.names[n], indices[k] = names[member], index
    end
  end
  return wanted, added
end

-- ---- columns ----

local function numbers(n)
  local list = {}
  for i = 1, n do list[i] = i end
  return list
end

-- The classes of a column as an array, which is read at once.
local function classes_of(column, index, n)
  local list, values = lazy.column(numbers(n), index), {}
  for i = 1, n do values[i] = lazy.value(WHO, list, i) end
  return core.from_table(values, "int32", nil, ("%s: column %s"):format(WHO, column))
end

local function column_of(name, about, index, n)
  about.index = index
  if name == "cls" then return classes_of(name, about, n) end
  return lazy.column(numbers(n), about)
end

local function parameters()
  local list = pictures.parameters { { "shards", "tar files: their names, or one in which "
    .. "{000..009} stands for ten", type = "string|string[]" } }
  list[2] = { "size", "height and width of pictures, or one number for both", args.none,
    type = "integer|integer[]" }
  list[#list + 1] = { "columns", "endings of members that become columns, in this order: {\"jpg\", "
    .. "\"cls\"}; \"jpg;png\": whichever there is; else those of the first sample", args.none,
    type = "string[]" }
  list[#list + 1] = { "buffer", "with shuffle: shards have an order of their own, and of so many "
    .. "samples behind one another one is drawn; else all are shuffled", args.none,
    type = "integer" }
  for _, param in ipairs(sounds.PARAMS) do
    if param[1] ~= "bad" then list[#list + 1] = param[1] ~= "seconds" and param
      or { "seconds", param[2], args.none, type = "number" } end
  end
  return list
end

--- The samples in tar archives, as the tools of WebDataset write them: members whose names are
-- alike up to the first dot make a sample, and what follows the dot says what each is. The first of
-- jpg, jpeg and png are pictures, wav sounds, npy arrays, cls classes, int32, txt texts, and json
-- tables. Archives are read where they are, and nothing is unpacked to the disk; where their
-- samples lie is read when this is called, the samples when their batch is due.
shards.webdataset = args.define(WHO, "Samples in tar archives as a data set: a column for each "
  .. "ending.", { returns = "DataColumns", unpack(parameters()) }, function(o)
  if o.columns ~= nil then
    args.list(WHO, "columns", o.columns, "string")
    if #o.columns == 0 then core.fail("%s: columns must be endings, got none", WHO) end
  end
  if o.buffer ~= nil then args.integer(WHO, "buffer", o.buffer, 1) end
  local paths, wanted = shard_paths(o.shards), o.columns
  local indices, counts, n = {}, {}, 0
  for file = 1, #paths do
    wanted, counts[file] = add_shard(indices, wanted, paths, file, o.bad == "skip")
    n = n + counts[file]
  end
  if n == 0 then core.fail("%s: %s: there are no samples", WHO, paths[1]) end
  local list = {}
  for k, name in ipairs(wanted) do
    local title = name:match("[^;]+")
    list[k] = { title, column_of(title, about_of(name, o), indices[k], n) }
  end
  local set = columns.set(list)
  if o.buffer then
    columns.shuffle_by(set, function(seed)
      return orders.buffered(counts, loop.shuffled(#counts, seed), o.buffer, seed + 1)
    end)
  end
  return set
end)

return shards
