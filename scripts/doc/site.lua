-- The site: the pages as HTML that needs nothing but its own folder, made by cmark-gfm, which keeps
-- to CommonMark and knows tables.
local guide = require "scripts.doc.guide"
local highlight = require "scripts.doc.highlight"

local site = {}

local ASSETS = "scripts/doc/site/"

--- Whether what converts Markdown is installed.
function site.available() return os.execute("command -v cmark-gfm >/dev/null 2>&1") == 0 end

local function convert(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  file:close()
  local pipe = assert(io.popen("cmark-gfm --unsafe --full-info-string -e table " .. path))
  local html = pipe:read("*a")
  pipe:close()
  os.remove(path)
  return html
end

local PLAIN = { amp = "&", lt = "<", gt = ">", quot = '"' }
local function unescaped(html) return (html:gsub("&(%l+);", PLAIN)) end
local function without_tags(html) return (html:gsub("<[^>]*>", "")) end

-- Where a name is explained: addresses by the name as it is written and by its path under flow.
local function addresses_of(contents)
  local found = {}
  for _, section in ipairs(contents) do
    for _, page in ipairs(section) do
      local file = page.name:gsub("%.md$", ".html")
      for _, e in ipairs(page.entries or {}) do found[e[2]] = file .. "#" .. e[2] end
      if page.entries then found[page.title] = file end
    end
  end
  return found
end

-- The address of what `code` names, which may be a call: "flow.nn.relu(x)".
local function address_of(found, code)
  return found[code] or found[code:match("^([%w_.:]+)%s*[({].*$") or ""]
end

-- ---- headings ----

-- The anchor of a heading, as GitHub makes it of the text.
local function slug(text)
  return (text:lower():gsub("[^%w%s_-]", ""):gsub("%s", "-"))
end

-- Gives each heading an anchor, and lists them: { level, text, id }.
local function with_anchors(html)
  local list, taken = {}, {}
  html = html:gsub("<h(%d)>(.-)</h%d>", function(level, inner)
    local id = inner:match('^<a id="([^"]+)"></a>')
    inner = inner:gsub('^<a id="[^"]+"></a>', "")
    local text = unescaped(without_tags(inner))
    id = id or slug(text)
    if taken[id] then
      taken[id] = taken[id] + 1
      id = id .. "-" .. taken[id]
    end
    taken[id] = taken[id] or 0
    list[#list + 1] = { level = tonumber(level), text = text, id = id }
    local link = level == "1" and "" or ('<a class="anchor" href="#%s">#</a>'):format(id)
    return ('<h%s id="%s">%s%s</h%s>'):format(level, id, inner, link, level)
  end)
  return html, list
end

-- ---- code and links ----

-- Links names of the API in running text. Code in a heading or in a link stays as it is.
local function with_links(html, found, own)
  local inside = 0
  return (html:gsub("(</?)(%w+)([^>]*>)([^<]*)", function(open, tag, rest, text)
    local whole = open .. tag .. rest .. text
    if tag == "a" or tag:find("^h%d$") or tag == "pre" then
      inside = inside + (open == "<" and 1 or -1)
    elseif tag == "code" and open == "<" and inside == 0 then
      local address = address_of(found, unescaped(text))
      if address and address ~= own then
        return ('<a href="%s">%s</a>'):format(address, whole .. "</code>") .. "\1"
      end
    end
    return whole
  end):gsub("\1</code>", ""))
end

local function with_code(html, found)
  local function link(text) return found[text] end
  return (html:gsub('<pre><code class="language%-(%w+)"([^>]*)>(.-)</code></pre>', function(name,
    about, code)
    local inner = highlight.html(name, unescaped(code), link)
    local file = about:match('data%-meta="(.-)"')
    local caption = file and ('<div class="file">%s</div>'):format(file) or ""
    return ('%s<pre class="%s"><code>%s</code></pre>'):format(caption, name, inner)
  end):gsub("<pre><code>", '<pre class="text"><code>'))
end

local function with_frames(html)
  html = html:gsub("<table>(%s*<thead>%s*<tr>%s*<th>argument</th>)", '<table class="arguments">%1')
  return (html:gsub("<table", '<div class="wide">%0'):gsub("</table>", "</table></div>")
    :gsub('href="([%w%-]+)%.md', 'href="%1.html'):gsub("<img ", '<img loading="lazy" '))
end

-- ---- search ----

local function quoted(text)
  return '"' .. text:gsub('[\\"]', "\\%0"):gsub("%s+", " "):gsub("</", "<\\/") .. '"'
end

-- What is found of a page: a row [title, address, page, text] for each of its headings.
local function add_rows(rows, name, title, html)
  local at = html:find('<h%d id="')
  while at do
    local next_at = html:find('<h%d id="', at + 1)
    local id, head, text = html:sub(at, (next_at or 0) - 1):match('^<h%d id="(.-)">(.-)</h%d>(.*)$')
    head = unescaped(without_tags((head:gsub('<a class="anchor".-</a>', ""))))
    rows[#rows + 1] = ("[%s,%s,%s,%s]"):format(quoted(head), quoted(name .. "#" .. id),
      quoted(title), quoted(unescaped(without_tags(text))))
    at = next_at
  end
end

-- ---- the page around it ----

local function menu(contents, own)
  local out = {}
  local function put(text, ...) out[#out + 1] = text:format(...) end
  for _, section in ipairs(contents) do
    put("<h2>%s</h2>\n<ul>", highlight.escaped(section.title))
    for _, page in ipairs(section) do
      put('<li><a href="%s"%s>%s</a></li>', page.name:gsub("%.md$", ".html"),
        page.name == own and ' aria-current="page"' or "", highlight.escaped(page.title))
    end
    put("</ul>")
  end
  return table.concat(out, "\n")
end

-- What is on the page: its headings of the second and third level; names of the API without their
-- namespace.
local function outline(headings, page)
  local short, out = {}, {}
  for _, e in ipairs(page.entries or {}) do short[e[2]] = e[1] end
  for _, h in ipairs(headings) do
    if h.level == 2 or h.level == 3 then
      local text = highlight.escaped(short[h.id] or h.text):gsub("[_.]", "%0<wbr>")
      out[#out + 1] = ('<li class="level%d"><a href="#%s">%s</a></li>'):format(h.level, h.id, text)
    end
  end
  if #out < 3 then return "" end
  return '<nav class="outline" aria-label="On this page"><h2>On this page</h2>\n<ul>\n'
    .. table.concat(out, "\n") .. "\n</ul></nav>"
end

local function steps(list, i)
  local function step(page, word, class)
    if not page then return "" end
    return ('<a class="%s" href="%s"><small>%s</small>%s</a>'):format(class,
      page.name:gsub("%.md$", ".html"), word, highlight.escaped(page.title))
  end
  return step(i and list[i - 1], "Previous", "previous")
    .. step(list[(i or 0) + 1], i and "Next" or "Begin here", "next")
end

--- The files of the site by their names. texts and contents: those of scripts.doc.pages.
function site.files(texts, contents)
  local template = guide.read(ASSETS .. "page.html")
  local files = { ["style.css"] = guide.read(ASSETS .. "style.css"),
    ["search.js"] = guide.read(ASSETS .. "search.js") }
  local found, list, at, rows = addresses_of(contents), {}, {}, {}
  for _, section in ipairs(contents) do
    for _, page in ipairs(section) do
      list[#list + 1] = page
      at[page.name] = #list
    end
  end
  local function make(page)
    local name, title = page.name, page.title
    local own = name:gsub("%.md$", ".html")
    local html, headings = with_anchors(convert(texts[name]))
    html = with_frames(with_code(with_links(html, found, own), found))
    if name ~= "index.md" then add_rows(rows, own, title, html) end
    local values = { title = highlight.escaped(title), menu = menu(contents, name), body = html,
      outline = outline(headings, page), steps = steps(list, at[name]) }
    files[own] = template:gsub("{{(%l+)}}", values)
  end
  make { name = "index.md", title = "Neural networks from Lua" }
  for _, page in ipairs(list) do make(page) end
  files["index.js"] = "window.JFL_INDEX=[\n" .. table.concat(rows, ",\n") .. "\n];\n"
  return files
end

return site
