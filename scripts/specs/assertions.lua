--- The assertions of busted's language that our specs use, as `assert.is_not.same(want, got,
-- message)`. Any other word is an error.
local THIS = debug.getinfo(1, "S").source

--- What a failed assertion throws.
local Failure = { __tostring = function(e) return e.message end }

--- Throws a failure with the line of the spec that runs.
local function fail(message)
  local level = 3
  local info = debug.getinfo(level, "Sl")
  while info and (info.currentline < 0 or info.source == THIS) do
    level = level + 1
    info = debug.getinfo(level, "Sl")
  end
  if info then message = ("%s:%d: %s"):format(info.short_src, info.currentline, message) end
  error(setmetatable({ message = message }, Failure), 0)
end

local MOST, DEEPEST = 20, 3            -- elements of a table and of tables in it that are shown

local function show(value, depth)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" or getmetatable(value) then return tostring(value) end
  local list = {}
  for key, element in pairs(value) do
    if #list == MOST or depth == DEEPEST then
      list[#list + 1] = "..."
      break
    end
    local shown = show(element, (depth or 0) + 1)
    list[#list + 1] = type(key) == "number" and shown or ("%s = %s"):format(tostring(key), shown)
  end
  return "{ " .. table.concat(list, ", ") .. " }"
end

--- Whether two values are the same, tables by what is in them; else also where they differ. Of
-- tables with an __eq of their own only the outermost are looked into.
local function same(a, b, at)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b, at end
  local of_a, of_b = debug.getmetatable(a), debug.getmetatable(b)
  if of_a and of_a == of_b and of_a.__eq then
    if at ~= "" then return a == b, at end
  elseif rawequal(a, b) then return true end
  for key, value in next, a do
    local other, place = b[key], ("%s[%s]"):format(at, tostring(key))
    if other == nil then return false, place end
    local equal, where = same(value, other, place)
    if not equal then return false, where end
  end
  for key in next, b do
    if a[key] == nil then return false, ("%s[%s]"):format(at, tostring(key)) end
  end
  return true
end

--- Whether a function fails, and its error, without its place where it is a text.
local function error_of(fn)
  local ok, err = pcall(fn)
  if type(err) == "string" then err = err:gsub("^.-:%d+: ", "", 1) end
  return not ok, err
end

local assertions = {}

--- Describes assertions: how many arguments they need; a function of the arguments that gives
-- whether they hold, what is wanted and what there is; and which argument may be a message, if it
-- is not the next.
local function add(names, needs, holds, message)
  for name in names:gmatch "%S+" do
    assertions[name] = { needs = needs, holds = holds, message = message or needs + 1 }
  end
end

add("equal equals", 2, function(want, got) return want == got, show(want), show(got) end)
add("same", 2, function(want, got)
  local equal, where = same(want, got, "")
  if equal or where == "" then return equal, show(want), show(got) end
  return false, show(want), ("%s, which differs at %s"):format(show(got), where)
end)
add("truthy", 1, function(v) return v ~= nil and v ~= false, "something true", show(v) end)
add("falsy", 1, function(v) return v == nil or v == false, "false or nil", show(v) end)
add("true", 0, function(v) return v == true, "true", show(v) end, 2)
add("false", 0, function(v) return v == false, "false", show(v) end, 2)
for _, kind in ipairs { "nil", "boolean", "number", "string", "table", "function", "userdata" } do
  add(kind, 0, function(v) return type(v) == kind, kind, show(v) end, 2)
end
add("near", 3, function(want, got, most)
  want, got, most = tonumber(want), tonumber(got), tonumber(most)
  if not (want and got and most) then error("near takes three numbers", 0) end
  return got >= want - most and got <= want + most, ("%.17g within %g"):format(want, most),
    ("%.17g"):format(got)
end)
add("matches match", 2, function(pattern, text, init, plain)
  local meta = debug.getmetatable(text)
  if type(text) ~= "number" and not (meta and (meta.__tostring or type(text) == "string")) then
    error("matches takes a text, got " .. show(text), 0)
  end
  if type(init) ~= "number" then init, plain = nil, nil end      -- it is a message
  return tostring(text):find(pattern, init, plain) ~= nil, "a match of " .. show(pattern),
    show(text)
end)
add("error errors", 1, function(fn, want)
  local failed, err = error_of(fn)
  return failed and (want == nil or same(want, err, "")), "an error" .. (want == nil and "" or
    " " .. show(want)), failed and show(err) or "none"
end, 3)
add("error_matches error_match", 2, function(fn, pattern)
  local failed, err = error_of(fn)
  return failed and type(err) == "string" and err:find(pattern) ~= nil,
    "an error that matches " .. show(pattern), failed and show(err) or "none"
end)

local WANTED = { is = true, are = true, was = true, has = true, does = true }
local UNWANTED = { ["not"] = true, no = true }

--- Judges arguments by an assertion, such as "is_not_same".
local function judge(words, ...)
  local name, wanted = words:lower(), true
  while true do
    local first, rest = name:match "^(%a+)_(.+)$"
    if UNWANTED[first] then wanted = not wanted elseif not WANTED[first] then break end
    name = rest
  end
  local assertion = assertions[name]
  if not assertion then error("there is no assertion " .. words, 0) end
  if select("#", ...) < assertion.needs then
    error(("%s takes %d arguments, got %d"):format(words, assertion.needs, select("#", ...)), 0)
  end
  local holds, want, got = assertion.holds(...)
  if (holds or false) == wanted then return end
  local message = select(assertion.message, ...)
  fail(("%sexpected %s%s, got %s"):format(type(message) == "string" and message .. "\n" or "",
    wanted and "" or "anything but ", want, got))
end

local function assertion_of(words)
  return setmetatable({}, {
    __index = function(_, key) return assertion_of(words .. "_" .. key) end,
    __call = function(_, ...) judge(words, ...) end,
  })
end

--- What specs call assert.
local checks = setmetatable({}, {
  __index = function(_, key) return assertion_of(key) end,
  __call = function(_, ok, message, ...)
    if not ok then fail(tostring(message or "assertion failed!")) end
    return ok, message, ...
  end,
})

return { assert = checks, Failure = Failure, known = assertions }
