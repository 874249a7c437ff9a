-- Every function of the API is called with values of every kind: an error is always one that names
-- the user's line and speaks of the API, and no value ends the process.
local flow = require "jfl"
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local helper = require "spec.lua.helper"
local manual = require "jfl.doc.manual"

local nd, tp = flow.ndarray, flow.typing

-- Functions that are left out as they print, read the system's data sets, or call what they are
-- given.
local LEFT_OUT = { watch = true, watch_diff = true, ["data.load_mnist"] = true, help = true,
  arguments = true }             -- which ends the program

-- Words of the errors that Lua itself raises, in our code or by our functions.
local RAW = { "attempt to ", "bad argument", "jfl/", "stack overflow", "table expected",
  "invalid order function", "invalid key", "invalid option", "not enough memory", "cannot convert" }

local directory, array, blob, stale

-- Fitting values for parameters by name, so that one wrong value among them is reached.
local function fitting(name)
  local x = blob or array
  local values = { shape = { 2, 2 }, units = 3, filters = 2, kernel_size = 1, dtype = "float32",
    value = 1, name = "part", path = directory .. "/fits", arrays = { array, array }, start = 3,
    inputs = x, x = x, a = x, b = x, y = x, values = { 1, 2 }, boundaries = { 1 },
    lr_scheduler = 0.1, rate = 0.5, axis = 0, ksize = 1, strides = 1, padding = "VALID",
    perm = { 1, 0 },
    device = "cpu", ids = "0:0", body = function(...) return ... end, fn = function() return 1 end,
    clip_norm = 1, steps = 1 }
  return values[name]
end

local function wrong_values()
  return {
    false, true, directory .. "/text", "", 1e300, -1e300, 0 / 0, 1 / 0, -1, 0, 0.5, 2 ^ 53, {},
    { {} }, { 1, 2 },
    { 1, "a" }, { 0 / 0, -5 }, { nil, 2 }, { { 1, 2 }, { 3 } }, { x = 1 }, { name = {} },
    { [1.5] = 2 }, setmetatable({}, { __index = function() return 1 end }), print,
    function() error("from inside", 0) end, function() end, array, stale, core.op("add"),
    coroutine.create(print), ffi.new("int[2]"), io.stdout, flow.nn, flow, tp.Numpy,
    tp.Numpy.Placeholder({ 2 }), flow.zeros_initializer(),
  }
end

local CALL = loadstring("local f, args, n = ...\nlocal r = f(unpack(args, 1, n))\nreturn r",
  "@train.lua")

-- A piece of the user's code about an object, as a function of x and y.
local function code(text, object)
  return loadstring("local o = ...\nreturn function(x, y) " .. text .. " end", "@train.lua")(object)
end

local function check(path, ok, message, describe)
  if ok then return end
  local problem
  if type(message) ~= "string" then
    problem = "is no text: " .. tostring(message)
  elseif message == "from inside" then
    return
  elseif not message:match("^train%.lua:2: ") then
    problem = "does not start with the user's line: " .. message
  else
    local ours = not message:find("'int [2]' and", 1, true)     -- else it is the FFI's
    for _, word in ipairs(RAW) do
      if ours and message:find(word, 1, true) then problem = "is raw: " .. message end
    end
  end
  if problem then error(("%s(%s): the error %s"):format(path, describe(), problem), 0) end
end

local problems

local function try(path, f, ...)
  local list, n = { ... }, select("#", ...)
  local function describe()
    local texts = {}
    for i = 1, n do
      local value = list[i]
      if type(value) == "table" and getmetatable(value) == nil then
        local parts = {}
        for key, part in pairs(value) do
          parts[#parts + 1] = tostring(key) .. "=" .. tostring(part)
        end
        texts[i] = "{" .. table.concat(parts, ", ") .. "}"
      else
        texts[i] = tostring(value)
      end
    end
    return table.concat(texts, ", ")
  end
  local ok, message = pcall(CALL, f, list, n)
  local fine, problem = pcall(check, path, ok, message, describe)
  local kind = path .. (tostring(problem):match("%): the error.*") or "")
  if not fine and not problems[kind] then
    problems[#problems + 1], problems[kind] = problem, true
  end
end

-- Every value at every position, then under every name with fitting ones beside it.
local function misuse(path, f, params)
  local values = wrong_values()
  try(path, f)
  for i = 1, #values do
    local v = values[i]
    try(path, f, v)
    try(path, f, v, v)
    try(path, f, nil, v)
    try(path, f, v, v, v, v)
    try(path, f, array, v)
    try(path, f, array, v, v)
    if blob then try(path, f, blob, v) end
    if blob then try(path, f, blob, v, v) end
    for _, name in ipairs(params) do
      local options = {}
      for _, other in ipairs(params) do options[other] = fitting(other) end
      options[name] = v
      try(path, f, options)
      if params[1] ~= name then
        local first = options[params[1]]
        options[params[1]] = nil
        try(path, f, first, options)
      end
    end
  end
end

local function resolve(path)
  local f = flow
  for part in path:gmatch("[^.]+") do
    local ok, value = pcall(function() return f[part] end)
    f = ok and value or nil
    if f == nil then return nil end
  end
  return f
end

local function names_of(params)
  local list = {}
  for i, param in ipairs(params or {}) do list[i] = param.name or param[1] end
  return list
end

-- All functions of the API by path, with the names of their parameters.
local function functions()
  local found, ops = {}, {}
  for _, info in pairs(core.ops()) do
    for path in (info.path or ""):gmatch("%S+") do
      ops[path] = names_of(info.params)
      for i = #info.inputs, 1, -1 do table.insert(ops[path], 1, info.inputs[i]) end
    end
  end
  for path in pairs(require("jfl.doc.index").paths()) do
    local f = not LEFT_OUT[path] and resolve(path)
    if type(f) == "function" then
      local defined = args.defined[path] or manual[path]
      found[#found + 1] = { path = path, f = f,
        params = ops[path] or names_of(defined and defined.params) }
    end
  end
  for path in pairs(require "jfl.legacy.names") do
    local f = path:match("^flow%.[^*]*$") and resolve(path:sub(6))
    for name, each in pairs(type(f) == "table" and f or { [path] = f }) do
      found[#found + 1] = { path = name, f = each, params = {} }
    end
  end
  for _, methods in ipairs { core.array_methods, core.blob_methods } do
    for name, f in pairs(methods) do
      if name ~= "free" then found[#found + 1] = { path = ":" .. name, f = f, params = {} } end
    end
  end
  table.sort(found, function(a, b) return a.path < b.path end)
  return found
end

-- Uses of objects that are no functions of the API.
local function syntax(x)
  local uses = {}
  for _, text in ipairs { "return o[x]", "o[x] = y", "return o + x", "return x - o", "return o * x",
    "return x / o", "return o % x", "return o ^ x", "return -o", "return o == x",
    "return o .. tostring(x)", "return o:get(x, y)", "o:set(x, y)", "return o:slice(x, y)" } do
    uses[#uses + 1] = { text, code(text, x) }
  end
  return uses
end

local function job_of(name, kind, returns)
  return flow.global_function { name = name, returns = returns,
    inputs = { { "a", tp[kind].Placeholder({ 2, 2 }) }, { "b", tp.Numpy.Placeholder({ -1 }) } },
    body = function(a, b) return a + flow.math.reduce_sum(b) end,
  }
end

local function objects()
  local check_point = flow.train.CheckPoint()
  local config = flow.function_config()
  local list = job_of("list", "ListNumpy", tp.Numpy)
  local plain, later = job_of("plain", "Numpy", tp.Numpy), job_of("later", "Numpy",
    tp.Callback(tp.Numpy))
  local future = job_of("future", "Numpy")
  local values, vector = { { 1, 2 }, { 3, 4 } }, { 1, 2, 3 }
  return {
    { "list", code("local r = o(x, y) return r", list) },
    { "list of one", code("local r = o({ x }, y) return r", list) },
    { "plain", code("local r = o(x, y) return r", plain) },
    { "plain(values, x)", function(x) return CALL(plain, { values, x }, 2) end },
    { "later(values, vector)(x, y)", code("local r = o(x, y) return r", later(values, vector)) },
    { "future", code("local r = o(x, y) return r", future) },
    { "future.get", future(values, vector).get },
    { "future.async_get", future(values, vector).async_get },
    { "future:async_get", code("o:async_get(x, y)", future(values, vector)) },
    { "job.compile", plain.compile }, { "job:compile", code("o:compile(x)", plain) },
    { "job.plan", plain.plan }, { "job.graph", plain.graph },
    { "CheckPoint.save", check_point.save }, { "CheckPoint.load", check_point.load },
    { "CheckPoint:load", code("local r = o:load(x, y) return r", check_point) },
    { "config.default_data_type", config.default_data_type },
    { "config.default_logical_view", config.default_logical_view },
    { "config.default_placement_scope", config.default_placement_scope },
    { "config.train.primary_lr", config.train.primary_lr },
    { "config.train.model_update_conf", config.train.model_update_conf },
    { "minimize", flow.optimizer.SGD(0.1).minimize },
  }
end

describe("wrong values", function()
  local said, wrote = print, io.write

  before_each(function()
    flow.clear_default_session()
    directory, problems = helper.directory(), {}
    array = nd.ones({ 2, 2 })
    helper.predict("stale", { 2, 2 }, function(x) stale = x return x end)({ { 1, 2 }, { 3, 4 } })
    rawset(_G, "print", function() end)
    rawset(io, "write", function() end)
  end)

  after_each(function()
    rawset(_G, "print", said)
    rawset(io, "write", wrote)
    flow.clear_default_session()
    helper.remove(directory)
    array, blob, stale = nil, nil, nil
  end)

  local function expect_none()
    rawset(_G, "print", said)
    rawset(io, "write", wrote)
    if #problems > 0 then
      error(("%d problems:\n%s"):format(#problems, table.concat(problems, "\n", 1,
        math.min(#problems, 400))), 0)
    end
  end

  it("in calls outside of a body are told at the user's line", function()
    local all = functions()
    assert.truthy(#all > 100)
    for _, each in ipairs(all) do misuse(each.path, each.f, each.params) end
    for _, each in ipairs(objects()) do misuse(each[1], each[2], {}) end
    for _, each in ipairs(syntax(array)) do misuse(each[1], each[2], {}) end
    expect_none()
    flow.clear_default_session()
    local job = helper.predict("sound", { 2 }, function(x) return x * 2 end)
    assert.same({ 2, 4 }, job({ 1, 2 }):totable())
  end)

  it("in a body are told at the user's line", function()
    local all = functions()
    local job = helper.predict("body", { 2, 2 }, function(x)
      blob = x
      -- Handlers of watch run in the job's calls, and their errors belong there.
      for _, each in ipairs(all) do
        if not each.path:match("^watch") then misuse(each.path, each.f, each.params) end
      end
      for _, each in ipairs(syntax(x)) do misuse(each[1], each[2], {}) end
      blob = nil
      return x
    end)
    assert.equal(1, job({ { 1, 2 }, { 3, 4 } })[1][1])
    expect_none()
  end)
end)
