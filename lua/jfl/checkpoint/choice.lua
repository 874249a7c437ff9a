-- What loading takes of weights: under which names, with their axes in which order, and what not.
local args = require "jfl.base.args"
local core = require "jfl.core"
local names = require "jfl.base.names"
local report = require "jfl.checkpoint.report"
local warn = require "jfl.base.warn"

local choice = {}

--- The options of functions that load, for args.define; names are those of the file.
choice.params = {
  rename = { "rename", "what names become: a function of a name to another one, or nil to leave it "
    .. "out; a table of names and names, and of pairs { pattern, replacement }, which apply in "
    .. "their order as string.gsub does; or \"alike\", for variables that layers here call "
    .. "otherwise, such as moving_mean for running_mean", args.none,
    type = "function|table|string" },
  transpose = { "transpose", "which tensors have their axes in another order: a pattern of names, "
    .. "or a list of patterns, for all axes in reverse; a table of patterns and axes, such as "
    .. "{ [\"kernel$\"] = { 3, 2, 0, 1 } }; or a function of name and shape to axes, true or nil",
    args.none, type = "string|table|function" },
  skip = { "skip", "which names are left out: a pattern, a list of patterns, or a function of a "
    .. "name to a boolean", args.none, type = "string|string[]|function" },
}

-- ---- patterns ----

-- Whether a pattern of Lua finds something in a name.
local function finds(c, option, name, pattern)
  local ok, at = pcall(string.find, name, pattern)
  if not ok then core.fail("%s: %s: pattern '%s': %s", c.who, option, pattern, at) end
  if at then c.used[pattern] = true end
  return at ~= nil
end

-- Notes a pattern or name, each of which must mean something in the end: a misspelled one would
-- silently do nothing.
local function note(c, option, pattern)
  args.expect(c.who, option, pattern, "string")
  c.patterns[#c.patterns + 1] = { option = option, pattern = pattern }
end

local function check_used(c, path, own)
  for _, each in ipairs(c.patterns) do
    if not c.used[each.pattern] then
      core.fail("%s: %s: %s: no name in it %s%s; nothing was changed", c.who, path, each.option,
        each.exact and ("is '%s'"):format(each.pattern)
          or ("is found by the pattern '%s'"):format(each.pattern),
        names.suggest(each.pattern, own))
    end
  end
end

-- ---- the options ----

-- rename = "alike": names that no variable has become those of variables that may be meant.
local function rename_alike(c, known)
  return function(name)
    if known[name] then return name end
    local found = report.alike(name, known)
    if #found > 1 then
      core.fail("%s: rename: '%s' may be %s; say which by { rename = { [\"%s\"] = \"%s\" } }",
        c.who, name, table.concat(found, " or "), name, found[1])
    end
    return found[1] or name
  end
end

local function rename_table(c, given)
  for key, to in pairs(given) do
    if type(key) == "string" then
      if to ~= false then args.expect(c.who, "rename", to, "string") end
      note(c, "rename", key)
      c.patterns[#c.patterns].exact = true
    elseif key ~= "n" then
      args.expect(c.who, "rename", to, "table")
      note(c, "rename", to[1])
      args.expect(c.who, "rename: the replacement", to[2], "string")
    end
  end
  return function(name)
    local exact = given[name]
    if exact ~= nil then
      c.used[name] = true
      return exact
    end
    for _, pair in ipairs(given) do
      if finds(c, "rename", name, pair[1]) then
        local ok, new = pcall(string.gsub, name, pair[1], pair[2])
        if not ok then core.fail("%s: rename: '%s': %s", c.who, pair[2], new) end
        name = new
      end
    end
    return name
  end
end

local function read_rename(c, given, known)
  if given == nil then return function(name) return name end end
  if given == "alike" then return rename_alike(c, known()) end
  if args.is_callable(given) then return given end
  args.must(type(given) ~= "string", given, "%s: rename must be a function, a table or \"alike\"",
    c.who)
  return rename_table(c, args.expect(c.who, "rename", given, "table"))
end

local function read_skip(c, given)
  if given == nil then return function() return false end end
  if args.is_callable(given) then return given end
  local list = type(given) == "string" and { given }
    or args.expect(c.who, "skip", given, "string or table")
  for _, pattern in ipairs(list) do note(c, "skip", pattern) end
  return function(name)
    local found = false
    for _, pattern in ipairs(list) do found = finds(c, "skip", name, pattern) or found end
    return found
  end
end

local function read_transpose(c, given)
  if given == nil then return function() return nil end end
  if args.is_callable(given) then return given end
  if type(given) == "string" then given = { given } end
  local list = {}
  for key, axes in pairs(args.expect(c.who, "transpose", given, "string or table")) do
    local is_pattern = type(key) == "number"
    list[#list + 1] = { pattern = is_pattern and axes or key, axes = is_pattern or axes }
    note(c, "transpose", list[#list].pattern)
  end
  return function(name)
    local axes
    for _, each in ipairs(list) do
      if finds(c, "transpose", name, each.pattern) then
        args.check(axes == nil, "%s: transpose: two patterns find '%s'; one must do so", c.who,
          name)
        axes = each.axes
      end
    end
    return axes
  end
end

--- Reads the options { rename, transpose, skip } of a call; nil: there are none. known(): the set
-- of names that variables have.
function choice.read(who, o, known)
  if o.rename == nil and o.transpose == nil and o.skip == nil then return nil end
  local c = { who = who, patterns = {}, used = {} }
  c.rename = read_rename(c, o.rename, known)
  c.skip = read_skip(c, o.skip)
  c.transpose = read_transpose(c, o.transpose)
  return c
end

-- ---- names and axes ----

-- The axes of a tensor of that shape, as a list; false: as they are.
local function axes_of(c, name, shape)
  local axes = c.transpose(name, shape)
  if not axes then return false end
  args.check(shape, "%s: transpose: '%s' has no shape in the file, so its axes are not known",
    c.who, name)
  if axes ~= true then return args.expect(c.who, "transpose: the axes", axes, "table") end
  axes = {}
  for i = 1, #shape do axes[i] = #shape - i end
  return axes
end

local function new_name(c, name)
  if c.skip(name) then return false end
  local new = c.rename(name)
  if new == nil or new == false then return false end
  args.must(type(new) == "string" and new ~= "", new,
    "%s: rename: the name for '%s' must be a string", c.who, name)
  return new
end

--- Says what becomes of a list of { name, shape }: names, or false for what is left out, and axes,
-- or false for what stays as it is. `path` is what has them, for messages.
function choice.of(c, path, list)
  local new, axes, own = {}, {}, {}
  for i, each in ipairs(list) do
    own[each.name] = true
    new[i] = new_name(c, each.name)
    axes[i] = new[i] and axes_of(c, each.name, each.shape)
  end
  check_used(c, path, own)
  return new, axes
end

--- The tensors of an open checkpoint: a list of { name, shape, dtype, lacks }.
function choice.tensors(file)
  local list, i = {}, 1
  local name, _, shape, dtype, has = core.checkpoint_tensor(file, i)
  while name do
    list[i] = { name = name, shape = shape, dtype = dtype, lacks = shape ~= nil and not has }
    i = i + 1
    name, _, shape, dtype, has = core.checkpoint_tensor(file, i)
  end
  return list
end

--- Takes of an open checkpoint what was chosen, if something was.
function choice.take(c, path, file)
  if c then core.checkpoint_take(file, choice.of(c, path, choice.tensors(file))) end
end

--- Leaves out what has a dtype that jfl lacks and is not wanted(name), and tells that once.
function choice.leave_lacking(path, file, wanted)
  local new, axes, told = {}, {}, {}
  for i, each in ipairs(choice.tensors(file)) do
    local left_out = each.lacks and not wanted(each.name)
    new[i], axes[i] = not left_out and each.name, false
    if left_out then told[#told + 1] = ("%s (%s)"):format(each.name, each.dtype) end
  end
  if #told == 0 then return end
  core.checkpoint_take(file, new, axes)
  warn.say("%s: skipped, as jfl has no such dtypes: %s", path, report.shorten(told))
end

return choice
