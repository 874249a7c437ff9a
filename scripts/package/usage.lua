-- The command's own help, read into parts: what the manual page and the completion of shells say of
-- its options comes from there, so that they cannot differ.
local usage = {}

--- Reads what `jfl --help` prints:
-- { synopsis =, options = { { spec = "--ranks n [--restart m]", text = }, ... }, notes =,
--   environment = { the same } }.
function usage.read(help)
  local parts = { options = {}, environment = {}, notes = "" }
  local list, last = parts.options, nil
  for line in help:gmatch "[^\n]*" do
    local deep = line:match "^   +(.*)"
    local spec, text = line:match "^  (%S.-)%s%s+(%S.*)"
    if not spec then spec, text = line:match "^  (%S.*)", "" end
    if line:find "^usage: " then
      parts.synopsis = line:match "^usage: (.*)"
    elseif line == "environment:" then
      list = parts.environment
    elseif deep and last then
      last.text = (last.text .. " " .. deep):gsub("^ ", "")
    elseif spec then
      last = { spec = spec, text = text }
      list[#list + 1] = last
    elseif line ~= "" then
      parts.notes = parts.notes .. line .. "\n"
    end
  end
  return parts
end

--- The help of the command that runs this.
function usage.own()
  local first = 0
  while arg[first - 1] do first = first - 1 end
  local pipe = assert(io.popen(("'%s' --help"):format(arg[first])))
  local help = pipe:read "*a"
  pipe:close()
  return usage.read(help)
end

--- The options by name, in order: { name = "--ranks", argument = "n" or "[=file]" or nil, text = }.
-- A text that says "--version: also ..." or "as --help does" names an option, too.
function usage.names(parts)
  local names, known = {}, {}
  local function add(name, argument, text)
    if known[name] then return end
    known[name] = true
    names[#names + 1] = { name = name, argument = argument ~= "" and argument or nil, text = text }
  end
  for _, option in ipairs(parts.options) do
    for name, argument in (option.spec .. " "):gmatch "%[?(%-[%w-]*)([^-%]]*)" do
      local open, word = argument:match "^(%[?)=?(%w*)"
      if open == "[" then add(name, "[=" .. word .. "]", option.text)
      else add(name, argument:match "^[= ]+([%w<>]+)" or "", option.text)
      end
    end
    for name in option.text:gmatch "%-%-%a[%a-]*" do add(name, "", option.text) end
  end
  return names
end

--- What an argument can be, "on off flush", of a text that ends in "(on, off, flush)"; else nil.
function usage.choices(text)
  local list = text:match "%((%w+, [%w, ]+)%)$"
  return list and (list:gsub(",", ""))
end

return usage
