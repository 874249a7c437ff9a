-- jfl --onnx: what is in a file.
local helper = require "spec.cmd.helper"

describe("jfl --onnx", function()
  it("lists what a model takes, gives and is made of", function()
    local out, err, status = helper.run("--onnx", "spec/lua/onnx/cases/mlp.onnx")
    assert.same({ "", 0 }, { err, status })
    for _, line in ipairs { "mlp.onnx: op set %d+", "\ninputs\n  X: float32 %(%?, 4%)\n",
      "\noutputs\n", "\n      2 MatMul\n", "\njfl has all of it\n" } do
      assert.matches(line, out)
    end
  end)

  it("fails where a file cannot be read or is no model", function()
    local out, err, status = helper.run("--onnx", "none.onnx")
    assert.same({ "", "jfl: none.onnx: No such file or directory\n", 1 }, { out, err, status })
    out, err, status = helper.run("--onnx", "README.md")
    assert.same({ "", 1 }, { out, status })
    assert.matches("it must be an ONNX model, got a file of another kind", err)
  end)
end)
