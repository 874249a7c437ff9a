-- Reference pages and the guide in Markdown: one page for each namespace and class.
local api = require "scripts.doc.api"
local blocks = require "scripts.doc.blocks"
local guide = require "scripts.doc.guide"
local optable = require "scripts.doc.optable"

-- The text of a table's cell. A bar, which types hold too, would end it in Markdown.
local function cell(text) return (text:gsub("|", "\\|"):gsub("%s*\n%s*", " ")) end

-- A description, which is no Markdown, so that it reads as it stands: "<name>-weight", "a * b".
local function plain(text) return (text:gsub("[\\`*<&%[%]]", "\\%0")) end

local function add(out, text, ...) out[#out + 1] = text:format(...) end

local function signature(f)
  if f.type then return f.written end
  if f.table_only then return f.written .. " { ... }" end
  local parts, named = {}, {}
  for i, p in ipairs(f.params) do
    local list = i <= f.positional and parts or named
    list[#list + 1] = p.name .. (p.default and "=" .. p.default or "")
  end
  if #named > 0 then parts[#parts + 1] = "{" .. table.concat(named, ", ") .. "}" end
  return ("%s(%s)"):format(f.written, table.concat(parts, ", "))
end

local function add_params(out, f)
  if #f.params == 0 then return end
  out[#out + 1] = "| argument | type | default | meaning |\n|---|---|---|---|"
  for _, p in ipairs(f.params) do
    local default = p.default and "`" .. cell(p.default) .. "`" or p.optional and "none" or ""
    add(out, "| `%s` | `%s` | %s | %s |", p.name, cell(p.type), default, cell(plain(p.doc)))
  end
  out[#out + 1] = ""
end

local function notes(f)
  local list = {}
  if f.options then list[1] = "Arguments can also be given in an options table, last." end
  if f.dtypes then list[#list + 1] = "Dtypes: " .. table.concat(f.dtypes, ", ") .. "." end
  if f.differentiable == false then list[#list + 1] = "Has no gradient." end
  return table.concat(list, " ")
end

local function add_name(out, f)
  add(out, "## <a id=\"%s\"></a>`%s`\n\n%s\n", f.written, signature(f), plain(f.doc))
  if f.same_as then add(out, "The same as `%s`.\n", f.same_as) end
  if f.type then
    add(out, "Type: `%s`.\n", f.type)
  else
    add_params(out, f)
    if #f.returns > 0 then add(out, "Gives `%s`.\n", table.concat(f.returns, "`, `")) end
    if notes(f) ~= "" then add(out, "%s\n", notes(f)) end
  end
  if f.example then add(out, "```lua\n%s\n```\n", f.example) end
end

-- The page of a name: that of its class or of its outermost namespace.
local function page_of(f)
  local head = f.owner:match("^[^.]+")
  return head or "flow"
end

local function file_of(page)
  return (page:find("^%u") and "class-" or "") .. page:lower() .. ".md"
end

local function by_page(names)
  local pages, order = {}, {}
  for _, f in ipairs(names) do
    local page = page_of(f)
    if not pages[page] then pages[page], order[#order + 1] = {}, page end
    table.insert(pages[page], f)
  end
  -- flow itself, then its namespaces, then classes.
  local function rank(page) return page == "flow" and 0 or page:find("^%l") and 1 or 2 end
  table.sort(order, function(a, b)
    if rank(a) ~= rank(b) then return rank(a) < rank(b) end
    return a < b
  end)
  return pages, order
end

local function title_of(page)
  return (page:find("^%u") or page == "flow") and page or "flow." .. page
end

-- The functions of flow that objects of a class have as methods.
local function add_methods(out, methods, link)
  if #methods == 0 then return end
  add(out, "## Functions of flow\n\nFunctions that take such an object first are methods of it.\n")
  out[#out + 1] = "| method | the same as | |\n|---|---|---|"
  for _, m in ipairs(methods) do
    add(out, "| `%s` | %s | %s |", m.name, link(m.of:gsub("^flow%.", "")), cell(plain(m.doc)))
  end
  out[#out + 1] = ""
end

local function reference(page, names, methods, link)
  local class = api.classes[page]
  local out = { ("# %s\n"):format(title_of(page)) }
  if class then add(out, "%s\n", class.doc) end
  for _, f in ipairs(names) do add_name(out, f) end
  add_methods(out, methods, link)
  return table.concat(out, "\n")
end

-- A name as it is called within its page: "warmup.linear".
local function short(f)
  local inner = f.owner:match("^[^.]+%.(.+)")
  return inner and inner .. "." .. f.name or f.name
end

-- The hand-written pages of a section as it stands in the table of contents.
local function section_of(name, title, about, guides)
  local section = { title = title, about = about }
  for _, page in ipairs(guides) do
    if page.section == name then
      section[#section + 1] = { name = page.name, title = page.title, section = name }
    end
  end
  return section
end

local function contents_of(guides, pages, order)
  local contents = {}
  for _, section in ipairs(guide.sections) do
    local made = section_of(section[1], section[2], section[3], guides)
    if #made > 0 then contents[#contents + 1] = made end
  end
  local names = { title = "Reference", about = "Every name under `flow`, with its arguments." }
  local objects = { title = "Objects", about = "The methods and fields of what functions give." }
  for _, page in ipairs(order) do
    local entries, list = {}, page:find("^%u") and objects or names
    list[#list + 1] = { name = file_of(page), title = title_of(page), entries = entries }
    for k, f in ipairs(pages[page]) do entries[k] = { short(f), f.written, f.doc } end
  end
  names[#names + 1] = { name = "ops.md", title = "The table of ops", entries = {} }
  contents[#contents + 1], contents[#contents + 2] = names, objects
  return contents
end

local function index(contents)
  local out = { guide.front() }
  for _, section in ipairs(contents) do
    add(out, "## %s\n\n%s\n", section.title, section.about)
    for i, page in ipairs(section) do
      local words = {}
      for k, e in ipairs(page.entries or {}) do
        words[k] = ("[`%s`](%s#%s)"):format(e[1], page.name, e[2])
      end
      add(out, "%s [%s](%s)%s", page.entries and "-" or i .. ".", page.title, page.name,
        #words > 0 and ": " .. table.concat(words, ", ") or "")
    end
    out[#out + 1] = ""
  end
  return table.concat(out, "\n")
end

-- Gives the link to a path's place in the reference.
local function linker(pages)
  local known = {}
  for page, names in pairs(pages) do
    for _, f in ipairs(names) do
      known[f.path] = ("[`%s`](%s#%s)"):format(f.path, file_of(page), f.written)
    end
  end
  return function(path) return known[path] or "`" .. path .. "`" end
end

--- The text of each page by the name of its file, and the table of contents: a list of sections
-- { title, about, pages { name, title, section, entries } }. outputs: what the blocks of pages
-- printed, by the name of the page. served: the kernels of a GPU for the table of ops.
return function(outputs, served)
  local names = api.names()
  local pages, order = by_page(names)
  local texts, guides, methods, link = {}, guide.pages(), api.methods(names), linker(pages)
  for _, page in ipairs(guides) do
    local text = blocks.with_outputs(page.shown, outputs and outputs[page.name])
    texts[page.name] = ("# %s\n\n%s"):format(page.title, text)
  end
  for _, page in ipairs(order) do
    local own = {}
    for _, m in ipairs(methods) do own[#own + 1] = m.owner == page and m or nil end
    texts[file_of(page)] = reference(page, pages[page], own, link)
  end
  texts["ops.md"] = optable.text(link, served)
  local contents = contents_of(guides, pages, order)
  texts["index.md"] = index(contents)
  return texts, contents
end
