--- Every op has kernels of the GPU, for each of its cases in each of its dtypes. Which ones is what
-- `make kernels` prints and the guide's table of ops says.
local kernels = require "scripts.doc.kernels"

-- Ops with calls that the host's plain kernels still serve.
local HOSTED = {
  batch_norm = true, batch_norm_grad = true, row_norm = true, row_norm_grad = true,
  softmax_cross_entropy_with_logits = true,
}

describe("the kernels of a GPU", function()
  local by_op = assert(kernels.lists())

  it("serve every op that has cases, whatever the dtype", function()
    local list = {}
    for name in pairs(require("spec.op.cases")) do
      if not by_op[name] then list[#list + 1] = name .. " was not tried" end
    end
    for _, line in ipairs(kernels.lacking(by_op)) do
      if not HOSTED[line:match "^[%w_]+"] then list[#list + 1] = line end
    end
    assert.equal("", table.concat(list, "\n", 1, math.min(#list, 20)))
  end)

  it("are named where they are asked for", function()
    assert.truthy(kernels.text(by_op.softmax):find("f32", 1, true))
    assert.truthy(kernels.text(by_op.add):find("cuda_each (f32 f64 i32 i64)", 1, true))
    assert.equal("none: nothing is computed", kernels.text(by_op.reshape))
  end)

  it("are missing where the host serves a call or no job can be made", function()
    local list = kernels.lacking { a = { { number = 2, dtype = "int8", host = true } },
      b = { { number = 1, dtype = "float32", wrong = "no kernel" }, { number = 2 } } }
    assert.same({ "a, case 2, int8: the host's plain kernel serves it",
      "b, case 1, float32: no kernel" }, list)
  end)
end)
