-- Shows values in the interactive session: tables by their contents, and nothing at length.
local WIDTH, DEPTH, MANY, LONG = 78, 4, 50, 4000
local SORTED = 1000              -- more keys than that are shown as they come

local show

local function cut(text, most)
  if #text <= most then return text end
  return ("%s ... (%d more bytes)"):format(text:sub(1, most):gsub("[\192-\255]?[\128-\191]*$", ""),
    #text - most)
end

local function quoted(text)
  local whole = cut(text, 2 * WIDTH)
  return (("%q"):format(whole):gsub("\\\n", "\\n"):gsub("%c", function(c)
    return ("\\%03d"):format(c:byte())
  end))
end

-- A value inside of another, on one line.
local function plain(value)
  if type(value) == "string" then return quoted(value) end
  local ok, text = pcall(tostring, value)
  if not ok then return "(a " .. type(value) .. " that fails to tell what it is)" end
  if text:find("\n", 1, true) then text = text:match("^[^\n]*") .. " ..." end
  return cut(text, 2 * WIDTH)
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

-- The list part in order, then the other keys.
local function entries(t, depth, around)
  local texts, n = {}, 0
  while rawget(t, n + 1) ~= nil do
    n = n + 1
    if n <= MANY then texts[n] = show(rawget(t, n), depth + 1, around) end
  end
  local others, names, count = other_keys(t, n)
  for _, key in ipairs(others) do
    if #texts >= MANY then break end
    texts[#texts + 1] = names[key] .. " = " .. show(rawget(t, key), depth + 1, around)
  end
  local left = n + count - #texts
  if left > 0 then texts[#texts + 1] = ("... (%d more)"):format(left) end
  return texts
end

local function tells_itself(value)
  if type(value) ~= "table" then return true end
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__tostring") ~= nil
end

-- A table on one line if it fits, else with a line for each entry. around: the set of tables it is
-- in.
function show(value, depth, around)
  if tells_itself(value) then return plain(value) end
  if around[value] or depth >= DEPTH then return "{...}" end
  around[value] = true
  local texts = entries(value, depth, around)
  around[value] = nil
  if #texts == 0 then return "{}" end
  local line = "{ " .. table.concat(texts, ", ") .. " }"
  if #line + 2 * depth <= WIDTH and not line:find("\n", 1, true) then return line end
  local indent = "\n" .. ("  "):rep(depth + 1)
  return "{" .. indent .. table.concat(texts, "," .. indent) .. "\n" .. ("  "):rep(depth) .. "}"
end

--- The text of a result: as tostring gives it, but for tables.
return function(value)
  if tells_itself(value) then return cut(tostring(value), LONG) end
  return show(value, 0, {})
end
