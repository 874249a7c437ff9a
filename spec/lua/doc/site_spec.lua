-- The site: whatever it points to is there.
require "jfl"                    -- its modules are found from here on
local highlight = require "scripts.doc.highlight"
local site = require "scripts.doc.site"

local function unescaped(text)
  return (text:gsub("&(%l+);", { amp = "&", lt = "<", gt = ">", quot = '"' }))
end

describe("the highlighter", function()
  local function no_link() end

  it("keeps every character of the code", function()
    local code = 'local s = "a\\"b" -- <c>\nx = [[ y ]] --[==[ z\n]==] 0x1F 1.5e-3 flow.nn.relu(s)'
    for _, language in ipairs { "lua", "c", "text" } do
      local html = highlight.html(language, code, no_link)
      assert.equal(code, unescaped((html:gsub("<[^>]*>", ""))), language)
    end
  end)

  it("tells words, strings, comments and promises apart", function()
    assert.equal('<span class="key">local</span> a = <span class="string">&quot;end&quot;</span> '
      .. '<span class="result">--&gt; end</span>',
      highlight.html("lua", 'local a = "end" --> end', no_link))
    assert.equal('<span class="key">#include</span> &lt;x.h&gt; <span class="comment">/* if */'
      .. "</span>", highlight.html("c", "#include <x.h> /* if */", no_link))
    assert.equal('<span class="key">for</span> _ <span class="comment"># in</span>',
      highlight.html("python", "for _ # in", no_link))
  end)

  it("links names of the interface", function()
    assert.equal('<a href="nn.html#flow.nn.relu">flow.nn.relu</a>(x)',
      highlight.html("lua", "flow.nn.relu(x)", function(name)
        return name == "flow.nn.relu" and "nn.html#flow.nn.relu" or nil
      end))
  end)
end)

describe("the site", function()
  if not site.available() then return pending "needs cmark-gfm: run scripts/setup doc" end

  local texts, contents = require "scripts.doc.pages" ()
  local files = site.files(texts, contents)

  local anchors = {}
  for name, html in pairs(files) do
    anchors[name] = {}
    for id in html:gmatch('<%w+ [^>]*id="([^"]+)"') do
      assert(not anchors[name][id], name .. " has two anchors " .. id)
      anchors[name][id] = true
    end
  end

  it("has a page of HTML for each page of Markdown", function()
    for name in pairs(texts) do assert.truthy(files[name:gsub("%.md$", ".html")], name) end
  end)

  it("has no dead link and no link to nowhere in a page", function()
    local wrong, count = {}, 0
    for name, html in pairs(files) do
      for address in html:gmatch('href="([^"]*)"') do
        local file, anchor = unescaped(address):match("^([^#]*)#?(.*)$")
        local target = file == "" and name or file
        local there = files[target] or target:find("^tutorial%-.*%.lua$")
          or target:find("^https://")
        if not there or anchor ~= "" and not anchors[target][anchor] then
          wrong[#wrong + 1] = name .. ": " .. address
        end
        count = count + 1
      end
    end
    assert.same({}, wrong)
    assert.truthy(count > 2000)
  end)

  it("has tags that close where they are open", function()
    local alone = { meta = true, link = true, img = true, input = true, br = true, wbr = true }
    for name, html in pairs(files) do
      local open = {}
      for slash, tag in (name:find("html$") and html or ""):gmatch("<(/?)(%w+)[^>]*>") do
        if slash == "" and not alone[tag] then
          open[#open + 1] = tag
        elseif slash == "/" then
          assert.equal(table.remove(open), tag, name)
        end
      end
      assert.same({}, open, name)
    end
  end)

  it("needs nothing from outside its folder", function()
    for name, html in pairs(files) do
      assert.is_nil(html:match("src=\"%a+://[^\"]*"), name)
      assert.is_nil(html:match("<link[^>]*%a+://[^>]*"), name)
      assert.is_nil(html:match("@import[^;]*"), name)
    end
  end)

  it("finds every name of the interface by its index", function()
    for _, section in ipairs(contents) do
      for _, page in ipairs(section) do
        for _, e in ipairs(page.entries or {}) do
          local address = page.name:gsub("%.md$", ".html") .. "#" .. e[2]
          assert.truthy(files["index.js"]:find('"' .. address .. '"', 1, true), address)
        end
      end
    end
  end)

  it("leads from each page to the next", function()
    local name, seen = files["index.html"]:match('class="next" href="([^"]+)"'), 0
    while name do
      seen = seen + 1
      name = files[name]:match('class="next" href="([^"]+)"')
    end
    local count = 0
    for _, section in ipairs(contents) do count = count + #section end
    assert.equal(count, seen)
  end)

  it("links names in running text to what explains them", function()
    assert.truthy(files["guide-layers-and-optimizers.html"]:find(
      '<a href="layers.html#flow.layers.dense"><code>flow.layers.dense', 1, true))
    assert.truthy(files["optimizer.html"]:find(
      'Gives <a href="class-optimizer.html"><code>Optimizer</code></a>', 1, true))
  end)
end)
