-- Wrong values inside calls that are right otherwise: they are named at the user's line.
local flow = require "jfl"
local helper = require "spec.lua.helper"

describe("a wrong part of a call is named:", function()
  before_each(flow.clear_default_session)
  after_each(flow.clear_default_session)

  -- The message of a call in a job's body, without the line, which must be one of this file.
  local function said(fn)
    local message
    helper.predict("job", { 2, 3, 4 }, function(x)
      local _
      _, message = pcall(fn, x)
      return x
    end)({ { { 1, 2, 3, 4 }, { 1, 2, 3, 4 }, { 1, 2, 3, 4 } },
      { { 1, 2, 3, 4 }, { 1, 2, 3, 4 }, { 1, 2, 3, 4 } } })
    local text, n = message:gsub("^.*wrong_parts_spec.lua:%d+: ", "")
    assert.equal(1, n, message)
    return text
  end

  for _, name in ipairs { "dense", "conv1d", "conv1d_transpose" } do
    it("a table as activation of " .. name, function()
      local message = said(function(x)
        return flow.layers[name](x, 5, name ~= "dense" and 2 or nil, { activation = { y = 1 } })
      end)
      assert.truthy(message:find(("layers.%s: activation must be a function such as flow.nn.relu, "
        .. "got a table"):format(name), 1, true), message)
    end)
  end

  for _, name in ipairs { "rnn", "lstm", "gru" } do
    it("more layers than there can be of " .. name, function()
      local message = said(function(x)
        return flow.layers[name](x, 5, { num_layers = 1e300 })
      end)
      assert.truthy(message:find(("layers.%s: num_layers must be a whole number from 1 to 1000, "
        .. "got 1e+300"):format(name), 1, true), message)
    end)
  end

  it("a column that a list does not have", function()
    local list = { flow.ndarray.ones { 4 }, flow.ndarray.ones { 4 } }
    local ok, message = pcall(function()
      local data = flow.data.batches(list, { batch_size = 2, columns = { "images" } })
      return data
    end)
    assert.is_false(ok)
    assert.truthy(message:find("columns: source has no column 'images'", 1, true), message)
  end)
end)
