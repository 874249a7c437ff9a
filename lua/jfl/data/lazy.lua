-- Columns of data sets whose items are read when their batch is due: files, or parts of files.
local args = require "jfl.base.args"
local core = require "jfl.core"

local lazy = {}

local MOST_PART = 2 ^ 28         -- bytes of a sample that is read here

-- What is known of each such list.
local known = setmetatable({}, { __mode = "k" })

local Lazy = {}

-- A column that is counted has the number i as its item i, and no list of them.
function Lazy:__index(i) return known[self].counted and i or nil end

function Lazy:__tostring() return known[self].text(#self) end

--- Makes a list of items such a column. about: spec, what a loader makes of each, or decode(bytes,
-- what), which gives a value, and as_list, where those of a batch stay a list; text(n), what the
-- list is called; counted, of one whose items are 1, 2, 3 without a list of them; index, of items
-- that are numbers: { paths, files, offsets, sizes, names }, where file files[item] has so many
-- bytes; bad, "skip" where what cannot be read is left out.
function lazy.column(items, about)
  known[items] = about
  return setmetatable(items, Lazy)
end

--- Files as such a column: `paths` is what a call has under that name.
function lazy.files(who, paths, about)
  local list = args.copied(args.list(who, "paths", paths, "string"))
  if #list == 0 then core.fail("%s: paths must be a list of file names, got none", who) end
  return lazy.column(list, about)
end

--- What is known of a column; nil for any other value.
function lazy.of(list) return known[list] end

--- The items as another column like this one; of other lists they are what they are.
function lazy.like(list, items)
  return known[list] and lazy.column(items, known[list]) or items
end

--- Where an item is: the file, and of a part of it the offset and the size.
function lazy.place(list, item)
  local index = known[list].index
  if not index then return item, 0, 0 end
  return index.paths[index.files[item]], index.offsets[item], index.sizes[item]
end

-- The bytes of an item.
local function bytes_of(who, list, item)
  local path, offset, size = lazy.place(list, item)
  local file, why = core.file_open(path)
  if not file then core.fail("%s: %s", who, why) end
  args.check(size <= MOST_PART, "%s: %s: a sample must have at most %.0f bytes, got %.0f", who,
    path, MOST_PART, size)
  local text
  text, why = core.file_read(file, size, offset)
  core.file_close(file)
  if not text or #text < size then core.fail("%s: %s: %s", who, path, why or "it is cut short") end
  return text
end

--- The value of an item of a column without a spec.
function lazy.value(who, list, item)
  local about = known[list]
  local what = ("%s: %s: %s"):format(who, lazy.place(list, item), about.index.names[item])
  return about.decode(bytes_of(who, list, item), what)
end

return lazy
