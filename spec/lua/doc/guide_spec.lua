local blocks = require "scripts.doc.blocks"
local guide = require "scripts.doc.guide"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- #cpu: its pages show profiles and plans.
describe("the guide #cpu", function()
  local function runs(text, name, first)
    local list, shared = blocks.find(text, first)
    for _, block in ipairs(list) do
      it(("runs as it stands: %s:%d"):format(name, block.line), function()
        local _, wrong = blocks.run(block, shared, name)
        assert.is_nil(wrong)
      end)
    end
    return #list
  end

  local pages, count = guide.pages(), 0
  for _, page in ipairs(pages) do count = count + runs(page.text, page.source, page.line) end
  runs(read("README.md"), "README.md")

  it("has pages in an order without gaps, and code on them", function()
    for i, page in ipairs(pages) do assert.equal(i, page.number, page.source) end
    assert.truthy(count > #pages)
  end)

  it("links to pages that are there", function()
    local texts = require "scripts.doc.pages" ()
    for name, text in pairs(texts) do
      for target in text:gmatch("%]%(([%w%-]+%.md)%)") do
        assert.truthy(texts[target], name .. " links to " .. target)
      end
    end
  end)
end)

describe("a runner of blocks", function()
  local function wrong(code)
    local list, shared = blocks.find("```lua\n" .. code .. "\n```\n", 7)
    return (select(2, blocks.run(list[1], shared, "page.md")))
  end

  it("tells the line of an error in the page", function()
    assert.truthy(wrong("local x\nerror('no')"):find("page.md:9: no", 1, true))
    assert.truthy(wrong("flow.nn.rellu()"):find("page.md:8: there is no flow.nn.rellu", 1, true))
  end)

  it("wants what the code says it prints, in order", function()
    assert.is_nil(wrong("print(1) --> 1\nprint(2) --> 2"))
    assert.truthy(wrong("print(2) --> 2\nprint(1) --> 3"):find("did not print: 3", 1, true))
  end)

  it("gives blocks what their page shares", function()
    local list, shared = blocks.find("<!-- lua\nfunction f() return 3 "
      .. "end\n-->\n```lua\nassert(f() == 3)\n```")
    assert.equal(1, #list)
    assert.is_nil((select(2, blocks.run(list[1], shared, "page.md"))))
  end)
end)
