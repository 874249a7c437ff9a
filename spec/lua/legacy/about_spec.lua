local flow = require "jfl"
local about = require "jfl.legacy.about"
local completion = require "jfl.doc.completion"
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
    local overview, paths = help.text(), index.paths()
    for path in pairs(about.by_path) do
      local name = path:match("^flow%.([%w_.]+)$") or path:match("^(FunctionConfig%.[%w_]+)$")
      local ours = name == "FunctionConfig" or name == "FunctionConfig.default_initializer_conf"
      if name and not ours then
        assert.falsy(paths[name], name)
        assert.falsy(index.entries()[name], name)
        local word = name:match("[^.]+$")
        local found = word ~= "scope" and overview:find("%f[%w_]" .. word .. "%f[^%w_]")
        assert.falsy(found, name)      -- the overview has flow.scope
        for _, completed in ipairs(completion.words("x = flow." .. name:sub(1, -2))) do
          assert.are_not.equal("flow." .. name, completed)
        end
      end
    end
  end)

  it("is said of second names of ops, which compute what these do", function()
    local x = flow.ndarray.array { -1, 0, 2, 3 }
    assert.same(flow.math.tanh(x):totable(), flow.math.tanh_v2(x):totable())
    assert.same(flow.math.sigmoid(x):totable(), flow.math.sigmoid_v2(x):totable())
    assert.same({ { -1, 0 }, { 2, 3 } }, flow.dynamic_reshape(x, { 2, 2 }):totable())
    assert.equal(flow.scope.namespace, flow.name_scope)
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
