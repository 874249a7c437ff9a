local helper = require "spec.lua.helper"
local metatable = require "jfl.base.metatable"

describe("metatable", function()
  it("is that of a table or a userdata, and nil of other values", function()
    local mt = {}
    assert.equal(mt, metatable(setmetatable({}, mt)))
    assert.equal("hidden", metatable(setmetatable({}, { __metatable = "hidden" })))
    assert.is_nil(metatable({}))
    assert.equal(debug.getmetatable(io.stdout), metatable(io.stdout))
    for _, value in ipairs { "text", 1, true, print, coroutine.create(print) } do
      assert.is_nil(metatable(value))
    end
    assert.is_nil(metatable(nil))
  end)

  -- LuaJIT's compiler takes what lies on its stack for the metatable of a file. Most of these
  -- programs crashed while the front end called getmetatable.
  it("is found of files in loops that are compiled", function()
    for seed = 1, 6 do
      local out, status = helper.script([[
        local flow = require "jfl"
        math.randomseed(]] .. seed .. [[)
        jit.opt.start("hotloop=" .. math.random(2, 12), "hotexit=" .. math.random(4))
        flow.global_function {
          name = "files", inputs = { { "a", flow.typing.Numpy.Placeholder({ 2, 2 }) } },
          body = function(x)
            local values = { false, true, 1, "s", {}, print, x, flow.nn, io.stdout, x * 2 }
            local texts = { "return o == x", "return o[x]" }
            for _ = 1, 400 do
              local f = loadstring("local o = ... return function(x) "
                .. texts[math.random(#texts)] .. " end")(x)
              local k = math.random(#values)
              for i = 1, math.random(30) do
                pcall(f, values[(k + i % math.random(3)) % #values + 1])
              end
            end
            return x
          end,
        } { { 1, 2 }, { 3, 4 } }
      ]])
      assert.same({ "", 0 }, { out, status })
    end
  end)
end)
