-- Everything that a restricted script can reach, compared with a list: what is added has to be
-- added there too, by someone who looked at it.
local allowed = require "jfl.sandbox.allowed"
local flow = require "jfl"
local golden = require "spec.golden"

-- Goes through all tables from the globals on, in the box, as a stranger would.
local WALK = [[
  local seen, list = {}, {}
  local function walk(path, t)
    if seen[t] then return end
    seen[t] = true
    local keys = {}
    for k in pairs(t) do keys[#keys + 1] = k end
    table.sort(keys)
    for _, k in ipairs(keys) do
      local name = path .. k
      list[#list + 1] = name .. " " .. type(t[k])
      if type(t[k]) == "table" then walk(name .. ".", t[k]) end
      local meta = getmetatable(t[k])
      list[#list + 1] = meta and name .. " has metatable " .. type(meta) or nil
    end
  end
  walk("", _G)
  list[#list + 1] = "flow " .. type(require "jfl") .. " of " .. getmetatable(require "jfl")
  return table.concat(list, "\n")
]]

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

describe("what a restricted script reaches", function()
  it("is what the list says", function()
    local text = { flow.sandbox({ seconds = 1000 }):run(WALK), "", "flow:" }
    for _, path in ipairs(sorted(allowed.paths)) do text[#text + 1] = path end
    for _, kind in ipairs(sorted(allowed.fields)) do
      text[#text + 1] = "\n" .. kind .. ": " .. table.concat(sorted(allowed.fields[kind]), " ")
    end
    golden.check("sandbox", table.concat(text, "\n") .. "\n")
  end)

  it("is there", function()
    local box = flow.sandbox { seconds = 1000 }
    box:run([[function look(path)
      local value = require "jfl"
      for name in path:gmatch("[^.]+") do value = value[name] end
      return type(value)
    end]])
    for path in pairs(allowed.paths) do
      assert(flow.has(path), path)
      local kind = box:call("look", path)
      assert(kind == "function" or kind == "string" or kind == "userdata", path)
    end
  end)

  it("has of methods of arrays and blobs those whose functions it has, and parts", function()
    local box = flow.sandbox { seconds = 1000 }
    box:run [[
      local flow = require "jfl"
      local a = flow.ndarray.arange(6):reshape(2, 3)
      function of_array(name) return pcall(function() return type(a[name]) end) end
      function of_blob(name)
        local ok, what
        flow.global_function { name = "j", inputs = { flow.float32 { 2, 3 } }, body = function(x)
          ok, what = pcall(function() return type(x[name]) end)
          return x
        end }:compile()
        return ok, what
      end
      function parts()
        local a = flow.ndarray.arange(6):reshape(2, 3)
        a[{ {}, 2 }] = 7
        local job = flow.global_function { name = "p", inputs = { flow.float32 { 2, 3 } },
          body = function(x) return x[{ {}, { 1, 2 } }]:sum(1) + x[1][{ -1 }] end }
        return a[{ 2, { 1, 2 } }]:totable(), job(a):totable()
      end]]
    local a, b = box:call("parts")
    assert.same({ { 3, 7 }, { 9, 12 } }, { a, b })
    for class, look in pairs { NdArray = "of_array", Blob = "of_blob" } do
      for name, path in pairs(require("jfl.op.methods").names(class)) do
        local ok, what = box:call(look, name)
        local own = (allowed.fields[class == "Blob" and "blob" or "array"])[name]
        assert.equal(allowed.paths[path] or own or false, ok, class .. ":" .. name)
        assert.truthy(what == "function" or what:find("is not there for a restricted script"), what)
      end
    end
  end)

  it("has models, and inputs in short", function()
    local box = flow.sandbox { seconds = 1000 }
    assert.same({ 2, 8, "n" }, box:run [[
      local flow = require "jfl"
      local net = flow.model("n", function(x) return flow.layers.dense(x, 2) end)
      local job = net:predict { inputs = { flow.float32 { -1, 3 } } }
      net:freeze("bias")
      local count = 0
      for _, array in pairs(net:variables()) do count = count + array.size end
      return { job({ { 1, 2, 3 } }).size, count, net.name }]])
    assert.same({ 2, 7, 6, true }, box:run [[
      local flow = require "jfl"
      local add = flow.global_function { name = "add",
        inputs = { b = flow.float32 { 1 }, a = flow.float32 { 2 } },
        body = function(a, b) return a + b end }
      local net = flow.model("line", function(x, scale) return flow.layers.dense(x, 1) * scale end)
      local train = net:train { inputs = { x = flow.float32 { 2, 1 }, y = flow.float32 { 2, 1 },
          scale = flow.float32 { 1 } },
        loss = function(guess, y) return ((guess - y) ^ 2):mean() end,
        optimizer = flow.optimizer.SGD(0.1, { momentum = 0 }) }
      local first = train { scale = { 1 }, x = { { 1 }, { 2 } }, y = { { 2 }, { 4 } } }:item()
      for _ = 1, 50 do train({ { 1 }, { 2 } }, { 1 }, { { 2 }, { 4 } }) end
      local sum = add({ 1, 2 }, { 5 })
      return { sum.size, sum[2], sum[1], train({ { 1 }, { 2 } }, { 1 },
        { { 2 }, { 4 } }):item() < first }]])
    assert.is_false(pcall(box.run, box, [[local flow = require "jfl"
      flow.global_function { name = "any", inputs = { x = flow.float32 { 1 } },
        body = function(...) return (...) end }]]))
    for _, text in ipairs { "('x'){}", "('x')()", "('float32')(1, {}, 2)" } do
      assert.is_false(pcall(box.run, box, "return " .. text))
    end
  end)

  it("is everything that jfl has but what was left out on purpose", function()
    local left = {}
    for path in pairs(require("jfl.doc.index").paths()) do
      if not allowed.paths[path] and not path:find(":") then left[path] = true end
    end
    golden.check("sandbox_left_out", table.concat(sorted(left), "\n") .. "\n")
  end)
end)
