-- The loops that serve where neither oneDNN nor OpenBLAS is installed, as JFL_LIBRARIES=none
-- pretends.
local helper = require "spec.lua.helper"

describe("without libraries", function()
  --- Runs these specs in a process without libraries.
  local function passes(words)
    local out, status = helper.script(("loadfile 'scripts/specs.lua' (%s)"):format(words),
      "JFL_LIBRARIES=none")
    assert.equal(0, status, out)
    assert.truthy(out:find "[1-9]%d* successes / 0 failures / 0 errors", out)
  end

  it("products are right", function()
    passes "'spec/dev/own_products.lua'"
  end)

  it("convolutions are right", function()
    passes "'spec/dev/own_convolutions.lua'"
  end)

  it("all cases of both are what plain kernels give", function()
    passes "'--filter=op matmul', '--filter=op conv', 'spec/op/op_spec.lua'"
  end)

  it("a product is by own loops", function()
    local out = helper.script([[
      local core = require "jfl.core"
      local support = require "spec.op.support"
      local plan = support.plan({ { dtype = "float32", shape = { 5, 6 } } }, function(_, v)
        return { core.op "matmul" (v[1], v[1], { transpose_b = true }) }
      end)
      print(core.plan_text(plan))
    ]], "JFL_LIBRARIES=none")
    assert.truthy(out:find("own_matmul", 1, true), out)
  end)
end)
