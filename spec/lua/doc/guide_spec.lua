local blocks = require "scripts.doc.blocks"
local flow = require "jfl"
local guide = require "scripts.doc.guide"
local tutorial = require "scripts.doc.tutorial"

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
  for _, page in ipairs(pages) do
    if page.section ~= "tutorial" then count = count + runs(page.text, page.source, page.line) end
  end
  runs(guide.read("README.md"), "README.md")

  -- Other first values in each run would break such a promise once in a hundred runs.
  it("draws the same numbers in each run where it promises how large a result is", function()
    local unseeded = {}
    for _, page in ipairs(pages) do
      for _, block in ipairs((blocks.find(page.text, page.line))) do
        -- A page of the tutorial is one script.
        local script = page.section == "tutorial" and page.text or block.code
        local draws = block.code:find "rand%W" or block.code:find "layers%."
        if draws and block.code:find "%s[<>]=?%s[^\n]*%-%->" and not script:find "random%.seed" then
          unseeded[#unseeded + 1] = ("%s:%d"):format(page.source, block.line)
        end
      end
    end
    assert.same({}, unseeded)
  end)

  it("has pages in an order without gaps, and code on them", function()
    local last = {}
    for _, page in ipairs(pages) do
      last[page.section] = (last[page.section] or 0) + 1
      assert.equal(last[page.section], page.number, page.source)
    end
    assert.truthy(count > last.guide)
  end)

  it("tells of names that are there", function()
    local gone = {}
    for _, page in ipairs(pages) do
      for span in page.text:gsub("\n```.-\n```", ""):gmatch("`([^`\n]+)`") do
        for path in span:gmatch("%f[%w]flow%.([%w_.]*%w)") do
          if not flow.has(path) then gone[#gone + 1] = page.source .. ": flow." .. path end
        end
      end
    end
    assert.same({}, gone)
  end)

  it("has the pages that the README names, and files where it says", function()
    local titles, readme = {}, guide.read("README.md")
    for _, page in ipairs(pages) do titles[page.title] = true end
    for _, section in ipairs(guide.sections) do titles[section[2]] = true end
    local text = readme:gsub("\n```.-\n```", "")
    for title in text:gmatch('"(%u[^"]*)"') do assert.truthy(titles[title], title) end
    for path in text:gmatch("`(%l+/[%w_/]+%.%l+)`") do
      if not path:find("^build/") then assert(io.open(path), path):close() end
    end
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

describe("the tutorial #cpu", function()
  local nd = flow.ndarray
  local place

  -- The first pictures of each set, in bytes.
  local function write_part(set, n)
    local images = set.images:slice(1, n):reshape(n * 100, 28, 28)
    return (images * 255 + 0.5):astype("uint8"), set.labels:slice(1, n):reshape(-1)
  end

  setup(function()
    place = blocks.directory()
    local real_print = print
    _G.print = function() end
    local train, test = flow.data.load_mnist(100, 100)
    _G.print = real_print
    local arrays = {}
    arrays.x_train, arrays.y_train = write_part(train, 20)
    arrays.x_test, arrays.y_test = write_part(test, 10)
    nd.save(place .. "/mnist.npz", arrays)
  end)

  teardown(function() blocks.remove(place) end)

  -- Each page finds what those before it saved.
  for _, page in ipairs(tutorial.pages()) do
    it("runs as it stands: " .. page.source, function()
      assert.is_nil(select(2, tutorial.run(page, place, place)))
      for picture in page.text:gmatch("%]%(([%w-]+%.svg)%)") do
        assert(io.open(place .. "/" .. picture), picture):close()
      end
    end)
  end

  it("gives readers the scripts that its pages link to", function()
    for _, page in ipairs(tutorial.pages()) do
      local files = tutorial.files(page)
      for script in page.text:gmatch("%]%(([%w-]+%.lua)%)") do
        assert.truthy(files[script] and loadstring(files[script]), script)
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

  local PAGE = "a\n```lua\nlocal x = 1\nprint(x) --> 1\n```\n<!-- output -->\n\nb\n"
    .. "```lua\nx = x + 1\nprint(x)\n```\nc\n"

  local function run_all(text)
    local place = blocks.directory()
    local outputs, why = blocks.run_all(blocks.find(text), "page.md", place)
    blocks.remove(place)
    return outputs, why
  end

  it("runs a page as one script, and tells its blocks' outputs apart", function()
    local outputs, why = run_all(PAGE)
    assert.is_nil(why)
    assert.same({ "1\n", "2\n" }, outputs)
    assert.equal("a\n```lua\nlocal x = 1\nprint(x) --> 1\n```\n\nIt prints:\n\n```text\n1\n```"
      .. "\n\nb\n```lua\nx = x + 1\nprint(x)\n```\nc\n", blocks.with_outputs(PAGE, outputs))
    assert.is_nil(blocks.with_outputs(PAGE):find("output", 1, true))
  end)

  it("tells the line of an error in such a page, and a promise that is not kept", function()
    assert.truthy(select(2, run_all(PAGE .. "```lua\nerror('no')\n```")):find("page.md:15: no"))
    assert.truthy(select(2, run_all((PAGE:gsub("%-%-> 1", "--> 7")))):find("did not print: 7"))
  end)
end)
