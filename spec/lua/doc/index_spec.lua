-- Everything that the manual describes exists, and everything that exists is described.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local api = require "scripts.doc.api"
local args = require "jfl.base.args"
local index = require "jfl.doc.index"
local manual = require "jfl.doc.manual"

describe("index", function()
  local entries = index.entries()

  it("has a text for every name under flow", function()
    local without = {}
    for path, e in pairs(entries) do
      if not e or not e.doc or e.doc == "" then without[#without + 1] = path end
    end
    assert.same({}, without)
  end)

  it("tells of nothing that is not there", function()
    local gone = {}
    for _, source in ipairs { manual, args.defined } do
      for path in pairs(source) do
        local method = path:gsub("^ndarray%.", "NdArray:")
        if not entries[path] and not entries[method] then gone[#gone + 1] = path end
      end
    end
    assert.same({}, gone)
  end)

  it("finds each name told of in one place", function()
    local ops, twice = {}, {}
    for _, info in pairs(require("jfl.core").ops()) do
      for path in (info.path or ""):gmatch("%S+") do ops[path] = true end
    end
    for path in pairs(manual) do
      if args.defined[path] or ops[path] then twice[#twice + 1] = path end
    end
    assert.same({}, twice)
  end)

  it("writes values as a script does", function()
    for _, value in ipairs { 1.5, false, "a\n\"b\"", {}, { 1, 2 }, { { "x" }, { y = {} } },
      { 1, nil, 3 }, { a1 = 1, _ = 2, ["a b"] = 3, [""] = 4, ["1"] = 5 },
      { "first", named = true, [0] = 0, [2.5] = "half", [true] = false, [7] = 7 } } do
      assert.same(value, loadstring("return " .. index.lua_text(value))())
    end
    assert.equal('{ 7, ["a b"] = { "x" }, [0] = 1, b = a function }',
      index.lua_text { 7, [0] = 1, b = print, ["a b"] = { "x" } })
  end)

  -- An object of each class that has methods or fields.
  local function objects()
    flow.clear_default_session()
    local made = { NdArray = flow.ndarray.zeros({ 2 }), CheckPoint = flow.train.CheckPoint(),
      FunctionConfig = flow.function_config() }
    local placeholder = flow.typing.Numpy.Placeholder({ 2 })
    made.Job = flow.global_function { name = "old", inputs = { { "x", placeholder } },
      body = function(x) return x end }
    local train = helper.train("train", { body = function(x)
      local w = flow.get_variable("w", { shape = { 2 }, initializer = flow.ones_initializer() })
      made.Blob, made.Optimizer = w, flow.optimizer.SGD(0.1)
      made.Optimizer:minimize(x * w)
      return x
    end })
    train:compile()
    flow.sync()
    return made
  end

  it("tells of the methods and fields that objects have", function()
    local made = objects()
    for _, f in ipairs(api.names()) do
      local object = made[f.owner:match("^%u%w*")]
      if object and not f.path:find("Config.train.", 1, true) then
        assert.truthy(object[f.name] ~= nil, f.path)
      end
    end
  end)

  it("tells of the functions that arrays and blobs have as methods", function()
    local made, count = objects(), 0
    for _, m in ipairs(require("jfl.doc.methods").all()) do
      assert.equal("function", type(made[m.class][m.name]), m.class .. ":" .. m.name)
      assert.truthy(entries[m.of], m.of)
      assert.is_nil(entries[m.class .. ":" .. m.name])
      count = count + 1
    end
    assert.truthy(count > 400)
    local pages = require "scripts.doc.pages" ({})
    for _, file in ipairs { "class-blob.md", "class-ndarray.md" } do
      local row = "\n| `softmax` | [`nn.softmax`](nn.md#flow.nn.softmax) | exp"
      assert.truthy(pages[file]:find(row, 1, true), file)
    end
  end)

  it("tells of every method of an object", function()
    local made = objects()
    for class, object in pairs(made) do
      local meta = getmetatable(object)
      local methods = class == "NdArray" and require("jfl.core").array_methods or meta.names
        or type(meta.__index) == "table" and meta.__index or {}
      for name, value in pairs(methods) do
        local known = entries[class .. ":" .. name] or entries[class .. "." .. name]
          or entries["train." .. class .. ":" .. name]
          or (require("jfl.doc.methods").of(class) or {})[name]
        local public = type(value) == "function" and not name:find("^_")
        assert.truthy(known or not public, class .. ":" .. name)
      end
    end
  end)
end)

describe("flow.help", function()
  it("gives defaults that hold: a call with them does what one without does", function()
    local count = 0
    for path, f in pairs(args.defined) do
      local given, free = {}, path:find("initializer$") or path == "truncated_normal"
      for i, param in ipairs(f.params) do
        if param[3] == nil then free = false end
        given[i] = param[3] ~= args.none and param[3] or nil
      end
      if free then
        count = count + 1
        assert.equal(tostring(f.fn()), tostring(f.fn(unpack(given, 1, #f.params))), path)
      end
    end
    assert.truthy(count > 5)
  end)
end)

describe("stubs", function()
  local text = require "scripts.doc.stubs" ()

  it("are Lua, and declare every name", function()
    assert(loadstring(text))()
    for path in pairs(index.values()) do
      local declared = text:find("\nfunction flow." .. path .. "(", 1, true)
        or text:find("\nflow." .. path .. " = ", 1, true) or path:find("Numpy%.Placeholder$")
      assert.truthy(declared, path)
    end
  end)

  it("tell the types of parameters and results", function()
    local function holds(part) assert.truthy(text:find(part, 1, true), part) end
    holds("---@param inputs Blob a blob of two or more axes\n---@param units integer extent")
    holds("---@overload fun(inputs: Blob, units: integer, options: layers.dense.Options): Blob")
    holds("---@overload fun(logits: NdArray, options: nn.softmax.Options): NdArray")
    holds("function flow.nn.softmax(logits, axis, name) end")
    holds("---@operator add(NdArray|number): NdArray")
    holds("---@field kernel_initializer? Initializer")
    holds("function Job:compile(batch_size) end")
    holds("---```lua\n---local nd = flow.ndarray\n---local x = nd.array({ -1, 3, 9 })\n"
      .. "---print(flow.nn.relu(x), flow.nn.relu6(x))")
  end)

  it("declare the functions that are methods of arrays and blobs", function()
    local function holds(part) assert.truthy(text:find(part, 1, true), part) end
    holds("---@overload fun(self: Blob, axis?: integer, options: nn.softmax.Options): Blob\n"
      .. "function Blob:softmax(axis, name) end")
    holds("function NdArray:relu(name) end")
    holds("function Blob:slice(first, last, axis, step) end")
    for _, m in ipairs(require("jfl.doc.methods").all()) do
      holds(("\nfunction %s:%s("):format(m.class, m.name))
    end
  end)

  it("declare every class that they name", function()
    for class in pairs(api.classes_in(api.names())) do
      assert.truthy(text:find("---@class " .. class .. "%f[%W]"), class)
    end
  end)
end)
