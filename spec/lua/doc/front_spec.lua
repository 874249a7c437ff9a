-- What README and site begin with: a picture of a session, and the program that it shows.
require "jfl"                    -- its modules are found from here on
local guide = require "scripts.doc.guide"
local session = require "scripts.doc.session"

local function text_of(rows)
  local lines = {}
  for i, row in ipairs(rows) do
    local letters = {}
    for x = 1, table.maxn(row) do letters[x] = row[x] and row[x].letter or " " end
    lines[i] = table.concat(letters):gsub("%s+$", "")
  end
  return lines
end

describe("the picture of a session", function()
  it("shows what a terminal does, from the first prompt on", function()
    local bytes = "Script started\nx = 1\njfl 1.0\n\27[1m>\27[0m \r\27[1m>\27[0m x = 1\r\n"
      .. "\27[?2004l\repoch 1/2: [=  ] 5/9\repoch 1/2: loss 0.5     \27[K\r\n\r\n"
      .. "  ab\27[10Gcd\bD\r\n\27[31mwrong\27[0m é\r\n> exit\r\nScript done\n"
    local rows = session.rows(bytes)
    assert.same({ "> x = 1", "epoch 1/2: loss 0.5", "  ab     cD", "wrong é" }, text_of(rows))
    assert.is_true(rows[1][1].bold)
    assert.equal(rows[4][1].colour, rows[4][5].colour)
    assert.is_nil(rows[4][7].colour)
  end)

  it("draws texts in columns, and curves and boxes as lines", function()
    local cells = {}
    for letter in ("<a> ⠉│"):gmatch "[%z\1-\127\194-\244][\128-\191]*" do
      cells[#cells + 1] = { letter = letter }
    end
    local svg = session.svg({ cells }, 10)
    assert.truthy(svg:find('textLength="25.2">&lt;a&gt;</text>', 1, true), svg)
    assert.equal(2, select(2, svg:gsub("h0", "")))       -- two dots
    assert.equal(2, select(2, svg:gsub("L%d", "")))      -- up and down
  end)

  it("is of the README's program, which has ten lines", function()
    local program = guide.read("README.md"):match "```lua\n(.-)```"
    local svg = guide.read "scripts/doc/pages/session.svg"
    local lines = {}
    for line in program:gmatch "([^\n]+)\n" do lines[#lines + 1] = line end
    assert.equal(10, #lines)
    for i = 2, 9 do
      local shown = lines[i]:gsub(" *%-%-.*", ""):gsub("^ +", "")
      assert.truthy(svg:find(">" .. shown .. "<", 1, true), shown)
    end
  end)

  it("is what the site begins with", function()
    local front = guide.front()
    assert.truthy(front:find("^# jfl\n"))
    assert.truthy(front:find("](session.svg)", 1, true))
    assert.truthy(front:find("\n    make bench\n", 1, true))
    assert.falsy(front:find("make demo", 1, true))
  end)
end)
