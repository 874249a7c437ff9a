-- Reference pages and the guide in Markdown: one page for each namespace and class.
local api = require "scripts.doc.api"
local guide = require "scripts.doc.guide"

-- The text of a table's cell. A bar, which types hold too, would end it in Markdown.
local function cell(text) return (text:gsub("|", "\\|"):gsub("%s*\n%s*", " ")) end

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
    add(out, "| `%s` | `%s` | %s | %s |", p.name, cell(p.type),
      p.default and "`" .. cell(p.default) .. "`" or p.optional and "none" or "", cell(p.doc))
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
  add(out, "### `%s`\n\n%s\n", signature(f), f.doc)
  if f.same_as then add(out, "The same as `%s`.\n", f.same_as) end
  if f.type then return add(out, "Type: `%s`.\n", f.type) end
  add_params(out, f)
  if #f.returns > 0 then add(out, "Gives `%s`.\n", table.concat(f.returns, "`, `")) end
  if notes(f) ~= "" then add(out, "%s\n", notes(f)) end
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
  table.sort(order)
  return pages, order
end

local function reference(page, names)
  local class = api.classes[page]
  local title = (page:find("^%u") or page == "flow") and page or "flow." .. page
  local out = { ("# %s\n"):format(title) }
  if class then add(out, "%s\n", class.doc) end
  for _, f in ipairs(names) do add_name(out, f) end
  return table.concat(out, "\n")
end

-- A name as it is called within its page: "warmup.linear".
local function short(f)
  local inner = f.owner:match("^[^.]+%.(.+)")
  return inner and inner .. "." .. f.name or f.name
end

local function index(guides, pages, order)
  local out = { "# jfl\n\n## Guide\n" }
  for _, page in ipairs(guides) do add(out, "%d. [%s](%s)", page.number, page.title, page.name) end
  out[#out + 1] = "\n## Reference\n"
  for _, page in ipairs(order) do
    local words = {}
    for i, f in ipairs(pages[page]) do words[i] = "`" .. short(f) .. "`" end
    local title = (page:find("^%u") or page == "flow") and page or "flow." .. page
    add(out, "- [%s](%s): %s", title, file_of(page), table.concat(words, ", "))
  end
  return table.concat(out, "\n") .. "\n"
end

--- The text of each page by the name of its file.
return function()
  local pages, order = by_page(api.names())
  local texts, guides = {}, guide.pages()
  for _, page in ipairs(guides) do
    texts[page.name] = ("# %s\n\n%s"):format(page.title, page.text)
  end
  for _, page in ipairs(order) do texts[file_of(page)] = reference(page, pages[page]) end
  texts["index.md"] = index(guides, pages, order)
  return texts
end
