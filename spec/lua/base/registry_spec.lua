-- What files of the front end say they give is what they give, and what scripts find under flow.
local flow = require "jfl"
local args = require "jfl.base.args"
local helper = require "spec.lua.helper"
local index = require "jfl.doc.index"
local registry = require "jfl.base.registry"

local function output(command, ...)
  local pipe = io.popen(command:format(...))
  local text = pipe:read("*a")
  assert(pipe:close())
  return text
end

local function value_at(path)
  local at = flow
  for name in path:gmatch("[^.]+") do at = at[name] end
  return at
end

-- The annotations of all files: calls fn(kind, word, file).
local function each_word(fn)
  for line in output("grep -rn '^---@' lua/jfl"):gmatch("[^\n]+") do
    local file, kind, words = line:match("^([^:]+):%d+:%-%-%-@(%S+) (.*)$")
    assert.truthy(kind == "flow" or kind == "box" or kind == "space", line)
    for word in words:gmatch("%S+") do fn(kind, word, file) end
  end
end

describe("what the front end's files give", function()
  index.paths()                                  -- loads all of them

  it("is there, each name once", function()
    local seen, count = {}, 0
    each_word(function(_, word, file)
      local path = word:match("^[^=]+")
      assert.is_nil(seen[path], path)
      seen[path], count = file, count + 1
      assert.truthy(flow.has(path) and value_at(path) ~= nil, path .. " of " .. file)
    end)
    assert.truthy(count > 250)
  end)

  it("takes tables with names of their own in their place, too", function()
    local count = 0
    for path, f in pairs(args.defined) do
      for _, param in ipairs(f.params) do
        local keyed = (param.type or ""):find("table<string", 1, true)
        assert(not keyed or param.keyed, path .. ": " .. param[1] .. " must be keyed")
        count = count + (keyed and 1 or 0)
      end
    end
    assert.truthy(count > 5)
  end)

  it("is every function that they define", function()
    local given = {}
    for _, space in ipairs(registry.spaces()) do
      for name in pairs(registry.names(space)) do
        given[space == "" and name or space .. "." .. name] = true
      end
    end
    local left_out = {}
    for path, f in pairs(args.defined) do
      local first = path:match("^(.-)[.:]")
      local in_table = first and registry.tables()[first] and value_at(path:match("^[^:]+")) == f.fn
      if not given[path] and not in_table and not path:find(":") and not index.of_object(path) then
        left_out[#left_out + 1] = path
      end
    end
    assert.same({}, left_out)
  end)

  it("is for boxes what says so, and what the core's records are", function()
    local box, allowed, n = {}, require("jfl.sandbox.allowed").paths, 0
    local entries = index.entries()
    each_word(function(kind, word)
      local path = word:match("^[^=]+")
      if kind == "box" then box[path] = true else assert.is_nil(allowed[path], path) end
    end)
    for path in pairs(allowed) do
      local e = entries[path]
      local record = e and (e.op or path:find("^optimizer%."))
      assert.truthy(box[path] or record, path)
      n = n + 1
    end
    assert.truthy(n > 400, n)
  end)

  it("is collected of a file that is new", function()
    local folder = helper.directory()
    output("mkdir -p %s/lua/jfl/net", folder)
    local file = assert(io.open(folder .. "/lua/jfl/net/trial.lua", "w"))
    file:write("-- A trial.\n---@space trials=inner\n---@flow trial nn.other=nn.trial\n"
      .. "---@box nn.trial\nreturn {}\n")
    file:close()
    local text = output("cd %s && '%s'/scripts/collect.sh lua/jfl/net/trial.lua", folder,
      (output "pwd":gsub("\n", "")))
    assert.same({ tables = "@net.trial trials=inner",
      flow = "@net.trial trial", ["flow.nn"] = "@net.trial other=nn.trial trial+" },
      loadstring(text)())
    helper.remove(folder)
  end)
end)
