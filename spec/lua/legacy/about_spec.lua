local flow = require "jfl"
local about = require "jfl.legacy.about"
local catalogue = require "jfl.legacy.catalogue"
local completion = require "jfl.doc.completion"
local examples = require "jfl.doc.examples"
local help = require "jfl.doc.help"
local index = require "jfl.doc.index"

describe("what is said of names of the original", function()
  it("is said of all that scripts may use, and of nothing else", function()
    local count = 0
    for path, text in pairs(about.by_path) do
      count = count + 1
      assert.truthy(#text > 5 and not text:find("%.$"), path)
      local name = path:match("^flow%.config%.([%w_]+)")
      if name then assert.truthy(flow.config[name], path) end
      name = path:match("^FunctionConfig%.([%w_]+)")
      if name then assert.truthy(flow.function_config()[name], path) end
    end
    assert.truthy(count > 80)
    assert.truthy(about.by_path["flow.get_variable, argument model_name"])
    assert.truthy(about.by_path["FunctionConfig.enable_cudnn"]:find("^has no effect"))
    assert.is_nil(about.text("relu"))
  end)

  it("is not in help's overview, the index or completion", function()
    local overview, paths, words = help.text(), index.paths(), { scope = true }
    for path in pairs(paths) do words[path:match("[^.:]+$")] = true end
    for path in pairs(index.entries()) do words[path:match("[^.:]+$")] = true end
    for path in pairs(about.by_path) do
      local name = path:match("^flow%.([%w_.]+)$") or path:match("^(FunctionConfig%.[%w_]+)$")
      local ours = name == "FunctionConfig" or name == "FunctionConfig.default_initializer_conf"
      if name and not ours then
        assert.falsy(paths[name], name)
        assert.falsy(index.entries()[name], name)
        local word = name:match("[^.]+$")
        local found = overview:find("%f[%w_]" .. word .. "%f[^%w_]")
        assert.falsy(found and not words[word], name)      -- such as flow.checkpoint.save
        for _, completed in ipairs(completion.words("x = flow." .. name:sub(1, -2))) do
          assert.are_not.equal("flow." .. name, completed)
        end
      end
    end
  end)

  it("is said of every name that the original has", function()
    local here, absent = catalogue.sorted()
    assert.is_true(#here > 400)
    for _, each in ipairs(absent) do assert.truthy(each[2], each[1]) end
    for _, path in ipairs(here) do
      local reason = catalogue.reason(path)
      assert.is_true(reason == nil or path:find("^data%.") ~= nil or path:find("^summary%.") ~= nil,
        path .. " is here, and there is a reason why not: " .. tostring(reason))
    end
    assert.truthy(about.by_path["flow.clip_by_scalar"] == "is flow.clip_by_value")
  end)

  local function at(path)
    local value = flow
    for name in path:gsub("^flow%.", ""):gmatch("[^.]+") do value = value[name] end
    return value
  end

  -- Calls a setting with the first value that it takes.
  local function set(path)
    local message
    for _, value in ipairs { true, 1, "x" } do
      local ok, what = pcall(at(path), value)
      if ok then return end
      message = what
    end
    error(path .. ": " .. tostring(message))
  end

  it("is true of each that is here: an example has it, which is run, or a spec calls it", function()
    local pipe = io.popen("cat spec/lua/legacy/*.lua spec/lua/*/*.lua spec/lua/*.lua")
    local specs = pipe:read "*a"
    pipe:close()
    local shown = {}
    for path in pairs(examples.by_path) do
      if flow.has(path) then shown[at(path)] = true end
    end
    for path in pairs(require "jfl.legacy.aliases") do shown[at(path)] = true end  -- below
    for _, path in ipairs((catalogue.sorted())) do
      local name = path:match("[^.]+$")
      if path:find("^config%.") or path:find("^env%.[gl]") then set(path)
      elseif not (shown[at(path)] or examples.of(path, index.entries()[path] or nil)) then
        local is_called = specs:find("%." .. name .. "%s?[({\"]")
          or specs:find("flow." .. path, 1, true) or specs:find('"' .. name .. '"', 1, true)
        assert.truthy(is_called, path .. " is not called")
      end
    end
    flow.clear_default_session()
  end)

  it("is true of each other name: it is what it says", function()
    for alias, path in pairs(require "jfl.legacy.aliases") do
      assert.equal(at(path), at(alias), alias)
      assert.is_nil(rawget(flow, alias:match("^flow%.([^.]+)$") or ""), alias)
    end
  end)

  -- The probabilities and results of the example that the original has of it.
  it("is said of the greedy decoder, on arrays and in jobs", function()
    local nd, tp = flow.ndarray, flow.typing
    local x = nd.array({
      { { -1.54, -1.20, -1.95, -1.65, -1.81 }, { -1.84, -1.74, -1.58, -1.55, -1.12 } },
      { { -1.68, -1.48, -1.89, -1.30, -2.07 }, { -1.13, -1.45, -1.24, -1.61, -1.66 } },
      { { -1.56, -1.40, -2.83, -1.67, -1.48 }, { -1.20, -2.01, -2.05, -1.95, -1.24 } },
      { { -2.09, -1.76, -1.36, -1.67, -1.45 }, { -1.85, -1.48, -1.34, -2.16, -1.55 } } })
    local decode = flow.nn.ctc_greedy_decoder
    flow.clear_default_session()
    local job = flow.global_function { name = "decode", returns = tp.Tuple(tp.Numpy, tp.Numpy),
      inputs = { { "x", tp.Numpy.Placeholder({ 4, 2, 5 }) },
        { "lengths", tp.Numpy.Placeholder({ 2 }, { dtype = flow.int64 }) } },
      body = function(probabilities, lengths) return decode(probabilities, lengths) end }
    for _, call in ipairs { job, decode } do
      local path, sum = call(x, nd.array({ 4, 4 }, "int64"))
      assert.same({ { 1, 3, 1, 2 }, { 0, 2, 0, 0 } }, path:totable())
      assert.near(5.26, sum:get(1, 1), 1e-5)
      assert.near(4.79, sum:get(2, 1), 1e-5)
    end
    local path, sum = decode(x, nd.array({ 2, 3 }, "int64"), { merge_repeated = false })
    assert.same({ { 1, 3, 0, 0 }, { 0, 0, 0, 0 } }, path:totable())
    assert.near(2.5, sum:get(1, 1), 1e-5)
    flow.clear_default_session()
  end)

  it("is said of functions that others make here", function()
    local nd = flow.ndarray
    local x = nd.array({ { 1, 2 }, { 3, 4 } })
    assert.same({ 0, 0, 0 }, flow.zero_pad2d(x:reshape({ 1, 1, 2, 2 }), 1, "NCHW"):slice(1, 1)
      :reshape({ 16 }):slice(1, 3):totable())
    assert.same({ { 1, 0 }, { 0.5, 0.5 } },
      flow.nn.fused_scale_tril_softmax_dropout(nd.ones({ 2, 2 })):totable())
    assert.same({ { 2, 4 }, { 4, 6 } },
      flow.nn.fused_bias_add_dropout(x, nd.array({ 1, 2 }), { rate = 0 }):totable())
    local function dropped(f)
      flow.clear_default_session()
      local returns = flow.typing.Numpy
      local fields = { name = "drops", type = "train", returns = returns, body = function()
        local v = flow.get_variable("v", { 9, 40 }, { initializer = flow.ones_initializer() })
        local y = f(v, flow.math.reduce_sum(v, 0))
        flow.optimizer.SGD(0.1):minimize(flow.math.reduce_sum(y))
        return y
      end }
      return flow.global_function(fields)():sum()
    end
    assert.equal(0, dropped(function(v)
      return flow.nn.fused_scale_tril_softmax_dropout(v, { rate = 1 - 1e-9 })
    end))
    assert.equal(0, dropped(function(v, bias)
      return flow.nn.fused_bias_add_dropout(v, bias, { rate = 1 - 1e-9 })
    end))
    flow.clear_default_session()
    local path = os.tmpname()
    os.remove(path)
    flow.save({ a = x }, path)
    assert.same({ { 1, 2 }, { 3, 4 } }, flow.load(path).a:totable())
    os.execute("rm -r " .. path)
  end)

  it("is said of second names of ops, which compute what these do", function()
    local x = flow.ndarray.array { -1, 0, 2, 3 }
    assert.same(flow.math.tanh(x):totable(), flow.math.tanh_v2(x):totable())
    assert.same(flow.math.sigmoid(x):totable(), flow.math.sigmoid_v2(x):totable())
    assert.same({ { -1, 0 }, { 2, 3 } }, flow.dynamic_reshape(x, { 2, 2 }):totable())
    assert.equal(flow.scope.namespace, flow.name_scope)
    assert.equal(flow.image.decode, flow.image_decode)
  end)

  it("is a page of the manual", function()
    local page = about.page()
    for path, text in pairs(about.by_path) do
      local name = path:gsub("^flow%.config%.", ""):gsub("^FunctionConfig%.", "")
      local row = ("| `%s` | %s |"):format(path, text)
      assert.truthy(page:find(row, 1, true) or page:find("`" .. name .. "`", 1, true), path)
    end
  end)
end)
