--- What recurrent layers do besides the numbers of one step, which spec/oracle has.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local nd = flow.ndarray
local tp = flow.typing

local X = nd.array { { { 1, 2 }, { 3, -1 }, { 0.5, 1 } }, { { 0, 1 }, { 1, 1 }, { -2, 2 } } }

--- The results of a layer of X (batch, length, size) with the same weights each time, as a list.
local function results(kind, type, options)
  flow.clear_default_session()
  local job = flow.global_function { name = "job", type = type, returns = tp.Numpy,
    inputs = { { "x", tp.Numpy.Placeholder(X.shape) } },
    body = function(x)
      if options.batch_first == false then x = flow.transpose(x, { 1, 0, 2 }) end
      for _, name in ipairs { "kernel", "recurrent", "bias" } do
        options[name .. "_initializer"] = flow.constant_initializer(0.25)
      end
      local y = flow.layers[kind](x, 3, options)
      if options.batch_first == false then y = flow.transpose(y, { 1, 0, 2 }) end
      if type == "train" then flow.optimizer.SGD(0.1):minimize(y) end
      return y
    end }
  local values = helper.list(job(X))
  flow.clear_default_session()
  return values
end

--- How far two lists are apart at most.
local function apart(a, b)
  assert.equal(#a, #b)
  local most = 0
  for i = 1, #a do most = math.max(most, math.abs(a[i] - b[i])) end
  return most
end

describe("recurrent layers", function()
  for _, kind in ipairs { "rnn", "lstm", "gru" } do
    it(kind .. " takes samples or steps first", function()
      local first = results(kind, "predict", {})
      assert.equal(2 * 3 * 3, #first)
      assert.near(0, apart(first, results(kind, "predict", { batch_first = false })), 1e-6)
    end)

    it(kind .. " drops between layers alone, and in train jobs alone", function()
      local one, two, dropped = { num_layers = 1 }, { num_layers = 2 }, { num_layers = 2,
        dropout = 0.5 }
      local plain = results(kind, "predict", two)
      assert.near(0, apart(plain, results(kind, "predict", dropped)), 1e-6)
      assert.near(0, apart(plain, results(kind, "train", two)), 1e-6)
      assert.truthy(apart(plain, results(kind, "train", dropped)) > 1e-3)
      plain, one.dropout = results(kind, "train", one), 0.5
      assert.near(0, apart(plain, results(kind, "train", one)), 1e-6)
    end)
  end
end)
