--- Every op has kernels of the GPU, for each of its cases in each of its dtypes. Which ones is what
-- `make kernels` prints and the guide's table of ops says.
local kernels = require "scripts.doc.kernels"

describe("the kernels of a GPU", function()
  local by_op = assert(kernels.lists())

  it("serve every op that has cases, whatever the dtype", function()
    local list = {}
    for name, cases in pairs(require("spec.op.cases")) do
      if #cases > 0 and not by_op[name] then list[#list + 1] = name .. " was not tried" end
    end
    for _, line in ipairs(kernels.lacking(by_op)) do list[#list + 1] = line end
    assert.equal("", table.concat(list, "\n", 1, math.min(#list, 20)))
  end)

  it("are named where they are asked for", function()
    assert.truthy(kernels.text(by_op.softmax):find("f32", 1, true))
    assert.truthy(kernels.text(by_op.add):find("cuda_each (f32 f64 i32 i64)", 1, true))
    assert.equal("none: nothing is computed", kernels.text(by_op.reshape))
  end)

  it("are not given where the process that lists them ends early", function()
    local program = os.tmpname()
    local file = assert(io.open(program, "w"))
    file:write("#!/bin/sh\necho add 1 float32 add=cuda_each\nexit 1\n")
    file:close()
    os.execute("chmod +x " .. program)
    local got, wrong = kernels.lists(program)
    os.remove(program)
    assert.is_nil(got)
    assert.equal("ended early, after: add 1 float32 add=cuda_each", wrong)
  end)

  it("are missing where no job can be made", function()
    local list = kernels.lacking { b = { { number = 1, dtype = "float32", wrong = "no kernel" },
      { number = 2 } } }
    assert.same({ "b, case 1, float32: no kernel" }, list)
  end)
end)
