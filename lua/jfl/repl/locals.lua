-- Keeps the locals that typed text declares outside of blocks, for what is typed next.
--
-- A chunk is loaded as a function whose upvalues are the locals of earlier chunks: they are joined
-- to those, so that functions defined earlier and later share one variable, as they do in a file.
-- After each declaration a call is inserted that hands over a function whose upvalues are the new
-- locals. Whatever fails later, they are known by then.
local debug = require "debug"
local tokens = require "jfl.repl.tokens"

local locals = {}

-- By name { f, i }: the variable is upvalue i of f.
local cells = {}

-- A function has at most 60 upvalues. A chunk that uses more locals reads the others as if they
-- were global.
local MOST = 50

local function value_of(cell)
  local _, value = debug.getupvalue(cell[1], cell[2])
  return value
end

--- Whether there is such a local.
function locals.has(name) return cells[name] ~= nil end

--- The names that are kept with their values.
function locals.all()
  local all = {}
  for name, cell in pairs(cells) do all[name] = value_of(cell) end
  return all
end

local function index(t, key) return t[key] end

--- The value at a path such as "flow.nn" or "a:sum", of kept locals and globals; nil where there is
-- none. The empty path gives the table of globals.
function locals.value_of(path)
  local at = _G
  for part in path:gmatch("[^.:]+") do
    local ok, value
    if at == _G and cells[part] then ok, value = true, value_of(cells[part])
    else ok, value = pcall(index, at, part) end
    if not ok or value == nil then return nil end
    at = value
  end
  return at
end

--- Forgets all.
function locals.clear() cells = {} end

local function keep(f)
  for i = 1, math.huge do
    local name = debug.getupvalue(f, i)
    if not name then return end
    cells[name] = { f, i }
  end
end

-- The names that a `local` declares which stands before token i, and the index after it.
local function declaration(list, i)
  if list[i] and list[i].text == "function" then
    return { list[i + 1].text }, tokens.after_function(list, i)
  end
  local names = {}
  while list[i] do
    names[#names + 1], i = list[i].text, i + 1
    if not (list[i] and list[i].text == ",") then break end
    i = i + 1
  end
  if list[i] and list[i].text == "=" then i = tokens.after_expressions(list, i + 1) end
  return names, i
end

-- The calls that keep these names. Their functions assign to them, or LuaJIT would take those that
-- the chunk never changes for constants. A call must not go on in the next line.
local function calls_of(keeper, names, follower)
  local calls = {}
  for i = 1, #names, MOST do
    local list = table.concat(names, ", ", i, math.min(#names, i + MOST - 1))
    calls[#calls + 1] = (" %s(function() %s = nil end)"):format(keeper, list)
  end
  return table.concat(calls, ";") .. (follower and follower.text == ";" and "" or ";")
end

-- The text with calls of `keeper` after each declaration outside of blocks.
local function with_calls(text, list, keeper)
  local parts, at, depth, i = {}, 1, 0, 1
  while list[i] do
    local token = list[i]
    if depth == 0 and token.kind == "keyword" and token.text == "local" then
      local names, after = declaration(list, i + 1)
      local last = list[after - 1].last
      parts[#parts + 1] = text:sub(at, last) .. calls_of(keeper, names, list[after])
      at, i = last + 1, after
    else
      depth, i = depth + tokens.block(token), i + 1
    end
  end
  parts[#parts + 1] = text:sub(at)
  return table.concat(parts)
end

-- The kept locals that the tokens name: a list of those to join, and a table of the cells of those
-- that are too many.
local function used(list)
  local names, others, seen = {}, nil, {}
  for _, token in ipairs(list) do
    local name = token.text
    if token.kind == "name" and cells[name] and not seen[name] then
      seen[name] = true
      if #names < MOST then names[#names + 1] = name
      else
        others = others or {}
        others[name] = cells[name]
      end
    end
  end
  return names, others
end

local function join(chunk)
  for i = 1, math.huge do
    local name = debug.getupvalue(chunk, i)
    if not name then return end
    if cells[name] then debug.upvaluejoin(chunk, i, unpack(cells[name])) end
  end
end

-- The globals, with these cells among them.
local function environment(others)
  return setmetatable({}, {
    __index = function(_, name)
      if others[name] then return value_of(others[name]) end
      return _G[name]
    end,
    __newindex = function(_, name, value)
      if others[name] then debug.setupvalue(others[name][1], others[name][2], value)
      else _G[name] = value end
    end,
  })
end

local function unused(text, name)
  while text:find(name, 1, true) do name = name .. "_" end
  return name
end

-- The text of a chunk that returns giver(tail) behind head. A tail of nothing but a semicolon is
-- nothing.
local function giving(head, tail, giver)
  local list = tokens.of(tail)
  local n = #list
  if n > 0 and list[n].text == ";" then n = n - 1 end
  if n == 0 then return head end
  return ("%sreturn %s(%s)"):format(head, giver, tail:sub(1, list[n].last))
end

--- Loads a text that is known to be valid, in a function that gives its results. A tail that is an
-- expression becomes an argument of `results`, since a tail call would lose its line for
-- tracebacks. Returns nil and a message where the whole is not valid. Nothing of it is compiled to
-- machine code, as compiled loops cannot be interrupted; what it calls is compiled.
function locals.load(head, tail, results)
  local text = head .. (tail or "")
  local keeper, giver = unused(text, "_keep"), unused(text, "_results")
  if tail then text = giving(head, tail, giver) end
  local list = tokens.of(text)
  local names, others = used(list)
  local prefix = table.concat({ keeper, giver, unpack(names) }, ", ")
  local maker, message = loadstring(("local %s = ... return function(...) %s\nend"):format(prefix,
    with_calls(text, list, keeper)), "=stdin")
  if not maker then return nil, message end
  jit.off(maker, true)
  local chunk = maker(keep, results)
  join(chunk)
  return others and setfenv(chunk, environment(others)) or chunk
end

return locals
