-- Shows values in the interactive session: arrays with shape and dtype, tables by their contents,
-- and nothing at length.
local colour = require "jfl.repl.colour"
local debug = require "debug"

local show = {}

local WIDTH, DEPTH, MANY, LONG = 78, 4, 50, 4000
local SHORT = 40                 -- columns of an array that is shown whole inside of a table
local SORTED = 1000              -- more keys than that are shown as they come
local NESTED = 8                 -- entries of a table inside of another; of a larger one the number

local paint, contents = colour.paint, nil

local function cut(text, most)
  if #text <= most then return text end
  return ("%s ... (%d more bytes)"):format(text:sub(1, most):gsub("[\192-\255]?[\128-\191]*$", ""),
    #text - most)
end

local function quoted(text)
  return (("%q"):format(text):gsub("\\\n", "\\n"):gsub("%c", function(c)
    return ("\\%03d"):format(c:byte())
  end))
end

local function kind_of(value)
  local core = type(value) == "userdata" and package.loaded["jfl.core"]
  return core and core.type(value)
end

-- The metatable's __tostring, which any value but a plain table may lack.
local function tells_itself(value)
  if type(value) ~= "table" then return true end
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

local function shape_of(array)
  return ("(%s) %s"):format(table.concat(array.shape, ", "), array.dtype)
end

local function array_text(array, is_inside)
  local text = tostring(array)
  if require("jfl.core").is_freed(array) then return text end
  if is_inside and (#text > SHORT or text:find("\n", 1, true)) then
    return "NdArray " .. shape_of(array)
  end
  if #text > LONG then return cut(text, LONG) .. "\n" .. paint("detail", shape_of(array)) end
  return text .. "  " .. paint("detail", shape_of(array))
end

local function is_job(value)
  local meta = type(value) == "table" and debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "help") == "global_function"
end

-- The inputs of a job: "x (3) float32".
local function inputs_of(job)
  local texts = {}
  for i, input in ipairs(job._inputs) do
    texts[i] = ("%s %s"):format(input.name, shape_of(input.type))
  end
  return table.concat(texts, ", ")
end

-- "job 'double' (predict): x (3) float32 -> Numpy"
local function job_text(job)
  return ("%s: %s -> %s"):format(tostring(job), inputs_of(job),
    job._untyped and (job._async and "future" or "arrays") or tostring(job._returns))
end

--- How a value that is no function is called, or nil.
function show.call(value)
  return is_job(value) and ("%s(%s)"):format(value.name, inputs_of(value)) or nil
end

-- "function (a, b) of train.lua:12"
local function function_text(f)
  local info = debug.getinfo(f, "S")
  if info.what == "C" then return tostring(f) end
  local place = info.source:find("^=jfl/") and "of flow"
    or ("of %s:%d"):format(info.short_src, info.linedefined)
  return ("function %s %s"):format(show.parameters(f), place)
end

--- The parameters of a Lua function: "(a, b, ...)".
function show.parameters(f)
  local names, info = {}, debug.getinfo(f, "u")
  for i = 1, info.nparams or 0 do names[i] = debug.getlocal(f, i) or "?" end
  if info.isvararg then names[#names + 1] = "..." end
  return "(" .. table.concat(names, ", ") .. ")"
end

local PAINTED = { number = "number", boolean = "word", ["nil"] = "word", ["function"] = "detail" }

-- The text of a value that is no plain table; may fail where its __tostring does.
local function told(value, is_inside)
  local kind = type(value)
  if kind == "function" then return function_text(value) end
  if kind_of(value) == "array" then return array_text(value, is_inside) end
  if is_job(value) then return job_text(value) end
  return tostring(value)
end

-- A value inside of another, on one line.
local function plain(value)
  if type(value) == "string" then return paint("string", quoted(cut(value, 2 * WIDTH))) end
  local ok, text = pcall(told, value, true)
  if not ok then return "(a " .. type(value) .. " that fails to tell what it is)" end
  if text:find("\n", 1, true) then text = text:match("^[^\n]*") .. " ..." end
  text = cut(text, 2 * WIDTH)
  return PAINTED[type(value)] and paint(PAINTED[type(value)], text) or text
end

local function key_text(key)
  if type(key) == "string" and key:match("^[%a_][%w_]*$") then return key end
  return "[" .. plain(key) .. "]"
end

-- The keys that are not of the list 1 .. n, sorted by their text; and how many there are.
local function other_keys(t, n)
  local others, texts, count = {}, {}, 0
  for key in next, t do
    if not (type(key) == "number" and key >= 1 and key <= n and key % 1 == 0) then
      count = count + 1
      if count <= SORTED then others[count], texts[key] = key, key_text(key) end
    end
  end
  if count <= SORTED then table.sort(others, function(a, b) return texts[a] < texts[b] end) end
  return others, texts, count
end

-- The list part in order, then the other keys; and how many entries there are.
local function entries(t, depth, around)
  local texts, n = {}, 0
  while rawget(t, n + 1) ~= nil do
    n = n + 1
    if n <= MANY then texts[n] = contents(rawget(t, n), depth + 1, around) end
  end
  local others, names, count = other_keys(t, n)
  for _, key in ipairs(others) do
    if #texts >= MANY then break end
    texts[#texts + 1] = names[key] .. " = " .. contents(rawget(t, key), depth + 1, around)
  end
  local left = n + count - #texts
  if left > 0 then texts[#texts + 1] = paint("detail", ("... (%d more)"):format(left)) end
  return texts, n + count
end

-- A table on one line if it fits, else with a line for each entry. around: the set of tables it is
-- in.
function contents(value, depth, around)
  if tells_itself(value) then return plain(value) end
  if around[value] or depth >= DEPTH then return "{...}" end
  around[value] = true
  local texts, count = entries(value, depth, around)
  around[value] = nil
  if count == 0 then return "{}" end
  local line = "{ " .. table.concat(texts, ", ") .. " }"
  if colour.length(line) + 2 * depth <= WIDTH and not line:find("\n", 1, true) then return line end
  if depth > 0 and count > NESTED then
    return "{" .. paint("detail", ("... (%d entries)"):format(count)) .. "}"
  end
  local indent = "\n" .. ("  "):rep(depth + 1)
  return "{" .. indent .. table.concat(texts, "," .. indent) .. "\n" .. ("  "):rep(depth) .. "}"
end

-- The text of a namespace such as flow.nn, or nil.
local function space_text(value)
  local meta = debug.getmetatable(value)
  local path = type(value) == "table" and type(meta) == "table" and rawget(meta, "namespace")
  if not path or path == "flow" then return nil end
  return require("jfl.doc.help").text(path)
end

-- Whether a text has several lines and nothing but what a terminal shows: a table, a plan.
local function is_page(text)
  return text:find("\n.", 1) ~= nil and not text:find("[%z\1-\8\11-\31\127]")
end

--- The text of a result; may fail where its __tostring does. A text of several lines stands as it
-- is, without quotes.
function show.text(value)
  if type(value) == "string" then
    local text = cut(value, LONG)
    return is_page(text) and text:gsub("\n$", "") or paint("string", quoted(text))
  end
  local space = space_text(value)
  if space then return space end
  if not tells_itself(value) then return contents(value, 0, {}) end
  local text = told(value, false)
  if kind_of(value) ~= "array" then text = cut(text, LONG) end
  return PAINTED[type(value)] and paint(PAINTED[type(value)], text) or text
end

return show
