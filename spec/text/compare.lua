-- Compares tokenizers with what Hugging Face's gave for the same texts: the files NAME.json and
-- NAME.txt of a folder, as scripts/oracles/texts/make.py writes them. As a program it goes through
-- all of a folder: build/jfl spec/text/compare.lua FOLDER
local flow = require "jfl"

local compare = {}

local function unquote(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

local function numbers(text)
  local list = {}
  for n in text:gmatch("%d+") do list[#list + 1] = tonumber(n) end
  return list
end

local function same(what, got, want, where)
  if #got == #want then
    local differs
    for i = 1, #want do differs = differs or (got[i] ~= want[i] and i) end
    if not differs then return true end
  end
  return false, ("%s: %s must be %s, got %s"):format(where, what, table.concat(want, " "),
    table.concat(got, " "))
end

-- What make.py writes of places, as bytes from..to-1 of each token.
local function places_in(text)
  local list, at = {}, 0
  for each in text:gmatch("%S+") do
    local from, size, times = each:match("^(%d-)%+?(%d+)%*?(%d*)$")
    for _ = 1, tonumber(times) or 1 do
      at = tonumber(from) or at
      list[#list + 1] = at
      at = at + tonumber(size)
      list[#list + 1] = at
    end
  end
  return list
end

-- Those of a result, as Hugging Face counts them; a token that has none is at 0, 0.
local function places(result)
  local list = {}
  for i, text in ipairs(result.text) do
    list[2 * i - 1] = text == 0 and 0 or result.first[i] - 1
    list[2 * i] = text == 0 and 0 or result.last[i]
  end
  return list
end

local function types(result)
  local list = { unpack(result.types) }
  for _, special in ipairs(result.special) do list[#list + 1] = special end
  return list
end

-- What is wrong with one line, or nil.
local function check(tokenizer, line, where)
  local fields = {}
  for field in (line .. "\t"):gmatch("([^\t]*)\t") do fields[#fields + 1] = field end
  local quoted, pair, ids, more, decoded = unpack(fields)
  local text = unquote(quoted)
  pair = pair ~= "" and unquote(pair) or nil
  local result = tokenizer:encode(text, { pair = pair, details = true })
  local ok, why = same("ids", result.ids, numbers(ids), where)
  if not ok then return why .. "\n  of " .. quoted end
  ok, why = same(pair and "types" or "places", pair and types(result) or places(result),
    pair and numbers(more) or places_in(more), where)
  if not ok then return why .. "\n  of " .. quoted end
  if not decoded then return end
  local got, want = tokenizer:decode(result.ids), decoded == "=" and text or unquote(decoded)
  if got ~= want then
    return ("%s: the text of its tokens must be '%s', got '%s'"):format(where, want, got)
  end
end

--- Compares one tokenizer with some lines: how many these are, and the list of what differs.
function compare.lines(tokenizer, lines, name)
  local n, wrong = 0, {}
  for line in lines do
    n = n + 1
    wrong[#wrong + 1] = check(tokenizer, line, ("%s:%d"):format(name, n))
  end
  return n, wrong
end

--- The same for files of a folder.
function compare.one(folder, name)
  return compare.lines(flow.text.tokenizer(("%s/%s.json"):format(folder, name)),
    io.lines(("%s/%s.txt"):format(folder, name)), name .. ".txt")
end

if arg and arg[0] and arg[0]:find("compare%.lua$") then
  for path in io.popen(("ls %s/*.txt"):format(arg[1])):lines() do
    local name = path:match("([^/]*)%.txt$")
    local n, wrong = compare.one(arg[1], name)
    print(("%-12s %d texts, %d differ"):format(name, n, #wrong))
    for i = 1, math.min(#wrong, tonumber(arg[2]) or 3) do print("  " .. wrong[i]) end
  end
end

return compare
