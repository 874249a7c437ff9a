-- Patterns in a box, whose functions of texts count what they do, beside those of Lua: each gives
-- the same, or fails, for the same pattern and text. Left out is what is not the same: in Lua 5.1 a
-- zero ends a pattern, and a % that ends a replacement is one.
local draws = require "spec.draws"
local flow = require "jfl"

local random = draws.from(draws.seed())
local function pick(list) return draws.pick(random, list) end

local LETTERS = { "a", "b", "A", "Z", "f", "g", "0", "9", " ", "\t", "\n", "\0", "\1", "\127",
  "\200", ".", "-", "]", "[", "^", "$", "%", "(", ")", "*", "_" }
local CLASSES = { "a", "c", "d", "g", "l", "p", "s", "u", "w", "x", "z", "A", "C", "D", "G", "L",
  "P", "S", "U", "W", "X", "Z", ".", "%", "]", "-", "b", "q" }
local SETS = { "[abc]", "[^abc]", "[a-f]", "[^a-f0-9]", "[]]", "[^]]", "[%a-]", "[-a]", "[a-]",
  "[%]%-]", "[%w_]", "[^%s%c]", "[z-a]", "[%z\1]", "[.]", "[0-9", "[^", "[%", "[]" }
local OTHERS = { ".", "%b()", "%bab", "%b(", "%f[%w]", "%f[^a]", "%f", "%1", "%2", "%0", "(", ")",
  "()", "(a)", "(.-)", "(%w+)", "(%d*)%1", "^", "$", "%" }
local COUNTS = { "", "", "", "*", "+", "-", "?" }

local function text_of(most)
  local parts = {}
  for i = 1, random(most + 1) - 1 do parts[i] = pick(LETTERS) end
  return table.concat(parts)
end

local function piece()
  local kind = random(5)
  local of = kind == 1 and pick(LETTERS):gsub("%z", "a") or kind == 2 and "%" .. pick(CLASSES)
    or kind == 3 and pick(SETS) or kind == 4 and pick(OTHERS) or pick { "a", "b", "0", " " }
  return of .. pick(COUNTS)
end

local function pattern()
  local parts = { random(4) == 1 and "^" or "" }
  for i = 2, random(5) do parts[i] = piece() end
  return table.concat(parts)
end

-- What a text does with each case, as one text: it runs in a box and outside.
local RUN = [[
  local function shown(...)
    local list = { ... }
    for i = 1, select("#", ...) do
      local v = list[i]
      list[i] = type(v) == "string" and ("%q"):format(v):gsub("\n", "n") or tostring(v)
    end
    return table.concat(list, ",")
  end
  local function tried(ok, ...) return ok and shown(...) or "fails" end
  local out = {}
  for _, case in ipairs(CASES) do
    local s, p, by, first, most = unpack(case, 1, 5)
    out[#out + 1] = tried(pcall(string.find, s, p, first))
    out[#out + 1] = tried(pcall(string.find, s, p, first, true))
    out[#out + 1] = tried(pcall(string.match, s, p, first))
    out[#out + 1] = tried(pcall(string.gsub, s, p, by, most))
    out[#out + 1] = tried(pcall(string.gsub, s, p, { a = "x", b = false, ["0"] = 7 }))
    out[#out + 1] = tried(pcall(string.gsub, s, p, function(...)
      local n = select("#", ...)
      return n > 1 and n or nil
    end, most))
    out[#out + 1] = tried(pcall(function()
      local all = {}
      for a, b in string.gmatch(s, p) do all[#all + 1] = shown(a, b) end
      return table.concat(all, ";") .. ";"
    end))
  end
  return table.concat(out, "\n")
]]

local FORMS = 7                  -- of calls with a case

local REPLACEMENTS = { "", "x", "<%0>", "%1", "%2%1", "%%", "%a" }

local function case()
  local s, p = text_of(12), pattern()
  return ("{ %q, %q, %q, %s, %s }"):format(s, p, pick(REPLACEMENTS),
    pick { "nil", "1", "2", "-1", "-3", "0", "20" }, pick { "nil", "nil", "0", "1", "2" })
end

describe("a pattern in a box", function()
  it("finds and replaces what it does outside", function()
    local box = flow.sandbox { memory = "64M", instructions = 1e9, seconds = 1000 }
    local failed, found, n = 0, 0, 0
    for _ = 1, draws.trials(20) do
      local cases = {}
      for i = 1, 50 do cases[i] = case() end
      local text = "local CASES = { " .. table.concat(cases, ",\n") .. " }\n" .. RUN
      local want, got = assert(loadstring(text))(), box:run(text)
      local lines = got:gmatch "[^\n]+"
      for line in want:gmatch "[^\n]+" do
        local i = n % (50 * FORMS)
        assert.equal(line, lines(), ("form %d of %s"):format(i % FORMS + 1,
          cases[math.floor(i / FORMS) + 1]))
        n = n + 1
        failed = failed + (line == "fails" and 1 or 0)
        found = found + (line:find "^%d" and 1 or 0)
      end
    end
    box:close()
    assert.is_true(failed > n / 50 and found > n / 50, ("%d fail, %d find"):format(failed, found))
  end)
end)
