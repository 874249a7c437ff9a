-- Values as the interactive session shows them: tables by what is in them.
local WIDTH, DEPTH, MANY = 78, 4, 50

local show

local function plain(value)
  local text = type(value) == "string" and ("%q"):format(value):gsub("\\\n", "\\n")
    or tostring(value)
  return text:find("\n", 1, true) and text:match("^[^\n]*") .. " ..." or text
end

local function key_text(key)
  if type(key) == "string" and key:match("^[%a_][%w_]*$") then return key end
  return "[" .. plain(key) .. "]"
end

-- The list part in order, then the other keys sorted by their text.
local function entries(t, depth, around)
  local texts, others, n = {}, {}, 0
  while rawget(t, n + 1) ~= nil do
    n = n + 1
    if n <= MANY then texts[n] = show(rawget(t, n), depth + 1, around) end
  end
  local count = n
  for key in next, t do
    if not (type(key) == "number" and key >= 1 and key <= n and key % 1 == 0) then
      others[#others + 1], count = key, count + 1
    end
  end
  table.sort(others, function(a, b) return key_text(a) < key_text(b) end)
  for _, key in ipairs(others) do
    if #texts >= MANY then break end
    texts[#texts + 1] = key_text(key) .. " = " .. show(rawget(t, key), depth + 1, around)
  end
  if count > #texts then texts[#texts + 1] = ("... (%d more)"):format(count - #texts) end
  return texts
end

-- A table on one line if it fits, else an entry a line. around: the tables it is in.
function show(value, depth, around)
  local meta = type(value) == "table" and debug.getmetatable(value)
  if type(value) ~= "table" or type(meta) == "table" and rawget(meta, "__tostring") then
    return plain(value)
  end
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
  if type(value) ~= "table" then return tostring(value) end
  local meta = debug.getmetatable(value)
  if type(meta) == "table" and rawget(meta, "__tostring") then return tostring(value) end
  return show(value, 0, {})
end
