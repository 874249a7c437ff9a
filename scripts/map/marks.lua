-- marks.lua FOLDER FILE...: writes each Lua file below the folder with a call `__c(NUMBER);` where
-- it and each block begins and behind each statement that ends by `end`, for spec/cover/lua.c.
-- Lines stay as they are. Prints what the numbers stand for, from 0 on: "lua/jfl/init.lua:12".
local folder = ...

--- Where the long bracket that begins at `at` ends, or nil where none begins.
local function long_end(text, at)
  local level = text:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, last = text:find("]" .. level .. "]", at, true)
  return last or #text
end

--- Calls fn(word, at, last) for each word and sign of a text outside of strings and comments.
local function each_token(text, fn)
  local at = 1
  while at <= #text do
    local char = text:sub(at, at)
    local last
    if text:find("^%-%-", at) then
      last = long_end(text, at + 2) or (text:find("\n", at, true) or #text + 1) - 1
    elseif char == '"' or char == "'" then
      last = at + 1
      while text:sub(last, last) ~= char do
        last = last + (text:sub(last, last) == "\\" and 2 or 1)
      end
    else
      last = long_end(text, at)
      if not last then
        local word = text:match("^[%a_][%w_]*", at) or char
        last = at + #word - 1
        if word:find "%S" then fn(word, at, last) end
      end
    end
    at = last + 1
  end
end

local number = 0

--- The text with its marks.
local function marked(text, path)
  local parts, begun = {}, 1       -- what is done, and where the rest begins
  local blocks = {}                -- the words that the open blocks began with
  local depth, heads = 0, {}       -- parentheses; at which depth function heads wait for their end
  local line, seen = 1, 1

  local function mark(last)
    line = line + select(2, text:sub(seen, last):gsub("\n", ""))
    seen = last + 1
    parts[#parts + 1] = text:sub(begun, last)
    parts[#parts + 1] = (" __c(%d);"):format(number)
    begun = last + 1
    print(("%s:%d"):format(path, line))
    number = number + 1
  end

  mark(0)
  each_token(text, function(word, _, last)
    if word == "(" then
      depth = depth + 1
    elseif word == ")" then
      depth = depth - 1
      if heads[#heads] == depth then
        heads[#heads] = nil
        mark(last)
      end
    elseif word == "function" then
      blocks[#blocks + 1] = word
      heads[#heads + 1] = depth
    elseif word == "if" then
      blocks[#blocks + 1] = word
    elseif word == "then" or word == "else" then
      mark(last)
    elseif word == "do" or word == "repeat" then
      blocks[#blocks + 1] = word
      mark(last)
    elseif word == "until" then
      blocks[#blocks] = nil
    elseif word == "end" then
      if table.remove(blocks) ~= "function" then mark(last) end
    end
  end)
  assert(#blocks == 0 and #heads == 0, path .. ": its blocks do not end")
  parts[#parts + 1] = text:sub(begun)
  return "local __c = ... return function(...) " .. table.concat(parts) .. "\nend\n"
end

for _, path in ipairs { select(2, ...) } do
  local file = assert(io.open(path))
  local text = marked(file:read "*a", path)
  file:close()
  local to = folder .. "/" .. path
  assert(loadstring(text, "@" .. to))
  os.execute("mkdir -p " .. to:match "(.*)/")
  file = assert(io.open(to, "w"))
  file:write(text)
  assert(file:close())
end
