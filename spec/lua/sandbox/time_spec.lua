--- A box's time ends what its calls do in C too. What surely takes longer is not begun:
--- spec/plan/deadline_spec.lua.
local flow = require "jfl"

describe("a box's time #cpu", function()
  local box
  setup(function() box = flow.sandbox { seconds = 0.5 } end)

  local function message_of(of, text, ...)
    local ok, err = pcall(of.run, of, "local flow = require 'jfl' local nd = flow.ndarray "
      .. "local args = { ... } return " .. text, "text", ...)
    assert.is_false(ok, text)
    return err
  end

  -- The message of a call that would take hours.
  local function message(text, ...) return message_of(box, text, ...) end

  it("ends ops between their parts", function()
    for _, dtype in ipairs { "float32", "float64" } do
      local err = message(([[(function()
        local x = nd.ones { 1, 64, 150, 150 }:astype("%s")
        local filters = nd.ones { 64, 64, 9, 9 }:astype("%s")
        while true do flow.nn.conv2d(x, filters, 1, "VALID") end
      end)()]]):format(dtype, dtype))
      -- The last call may also find that too little time is left for it.
      assert.truthy(err:find("it ran for more than 0.5 s", 1, true)
        or err:find("which the script has no time for", 1, true), err)
    end
  end)

  it("ends what variables begin with", function()
    local own = flow.sandbox { seconds = 0.5, memory = 2 ^ 29 }
    for _, each in ipairs { { "flow.random_normal_initializer()", "{ 2 ^ 26 }" },
      { "flow.orthogonal_initializer()", "{ 4000, 4000 }" } } do
      local err = message_of(own, ([[flow.global_function { name = "begins",
        returns = flow.typing.Numpy, inputs = { { "x", flow.typing.Numpy.Placeholder { 1 } } },
        body = function(x)
          local w = flow.get_variable("w", %s, { initializer = %s })
          return flow.math.reduce_sum(w) * x
        end }(nd.ones { 1 })]]):format(each[2], each[1]))
      assert.matches("it ran for more than 0.5 s", err)
    end
  end)

  it("ends spectra and other rates of sounds", function()
    local prime = "flow.data.mel(nd.ones { 65521 }, 16000, { n_fft = 65521, hop = %d, bands = 1 })"
    assert.matches("steps, which the script has no time for", message(prime:format(20)))
    assert.matches("steps, which the script has no time for", message(prime:format(65000)))
    assert.matches("it ran for more than 0.5 s", message(
      "flow.data.resample(nd.ones { 4e6 }, 767999, 768000)"))
    assert.same({ 80, 101 }, flow.sandbox({ seconds = 60 }):run("local flow = require 'jfl' return "
      .. "flow.data.mel(flow.ndarray.ones { 16000 }, 16000, { n_fft = 400, hop = 160 }).shape"))
  end)

  it("ends what makes tokens", function()
    local one = ("a"):rep(100000)
    for _, model in ipairs {
      '{"type":"Unigram","unk_id":0,"vocab":[["u",0],["%s",-1]]}',
      '{"type":"WordPiece","unk_token":"u","max_input_chars_per_word":1e9,'
        .. '"continuing_subword_prefix":"","vocab":{"u":0,"a":1,"%sb":2}}',
    } do
      local read = os.tmpname()
      os.remove(read)
      assert(os.execute("mkdir " .. read) == 0)
      local file = assert(io.open(read .. "/tokenizer.json", "w"))
      file:write('{"version":"1.0","model":' .. model:format(one) .. "}")
      file:close()
      local own = flow.sandbox { seconds = 0.5, read = read }
      local ok, err = pcall(own.run, own, [[
        local tokenizer = require("jfl").text.tokenizer "tokenizer.json"
        return #tokenizer:encode(("a"):rep(90000))]])
      os.execute("rm -r " .. read)
      assert.is_false(ok)
      assert.matches("it ran for more than 0.5 s", err)
    end
    assert.matches("it ran for more than 0.5 s", message [[
      flow.text.train { texts = { ("a"):rep(3e6) }, size = 1000, pattern = "a*b|a" }]])
  end)
end)
