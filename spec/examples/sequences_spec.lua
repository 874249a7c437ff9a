-- The examples about sequences, in short forms.
local helper = require "spec.cmd.helper"

-- #cpu: they are about what is learned, not about devices.
describe("examples about sequences #cpu", function()
  local text = os.tmpname()

  setup(function()
    local file = assert(io.open(text, "w"))
    for i = 1, 40 do
      file:write(("line %d: the cat sat on the mat and saw the rat.\n"):format(i))
    end
    file:close()
  end)

  teardown(function() os.remove(text) end)

  -- The first and the last loss that an example prints, and all that it prints.
  local function losses(name, ...)
    local out, err, status = helper.shell(("%s examples/%s.lua %s"):format(helper.command(), name,
      table.concat({ ... }, " ")))
    assert.equal(0, status, out .. err)
    local all = {}
    for loss in out:gmatch "step %d+: loss (%S+)" do all[#all + 1] = tonumber(loss) end
    return all[1], all[#all], out
  end

  it("learn letters by attention, and write", function()
    local first, last, out = losses("gpt", 60, "layers=2", "heads=2", "size=32", "context=32",
      "batch=8", "sample=40", "rate=5e-3", "text=" .. text)
    assert.is_true(first > 3, out)
    assert.is_true(last < 1.5, out)
    assert.truthy(out:find "The", out)
  end)

  it("learn letters by LSTM, and write", function()
    local first, last, out = losses("lstm", 100, text)
    assert.is_true(first > 3, out)
    assert.is_true(last < 1, out)
    assert.truthy(out:find "\nThe ", out)
  end)

  it("learn words, keep them in a GGUF file, and talk", function()
    local model = os.tmpname()
    os.remove(model)
    model = model .. ".gguf"
    local function talk()
      local out, err, status = helper.shell(("printf 'line 3\\n\\nthe cat\\n' | "
        .. "%s examples/chat.lua 40 text=%s model=%s max=12 seed=3"):format(helper.command(), text,
        model))
      assert.equal(0, status, out .. err)
      return out, err
    end
    local out, err = talk()
    assert.truthy(err:find "40/40", err)
    assert.truthy(out:find "Begin a sentence", out)
    assert.truthy(out:find "the", out)
    local again, silent = talk()                     -- what was learned is in the file
    assert.equal(out, again)
    assert.equal("", silent)
    os.remove(model)
  end)

  it("learn to fill in hidden letters", function()
    local first, last, out = losses("bert", 80, text)
    assert.is_true(first > 3, out)
    assert.is_true(last < 1, out)
    -- What is most frequent, the space, is one letter in four.
    local right, all = out:match "hidden letters told: (%d+) of (%d+)"
    assert.is_true(tonumber(right) > tonumber(all) * 0.6, out)
  end)
end)
