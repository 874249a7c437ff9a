--- Weights in few bits on an emulated GPU: products around tiles of warps and blocks, rows and
-- numbers, and a language model of them.
local flow = require "jfl"
local helper = require "spec.lua.helper"
local emulated = require "spec.dev.emulated"

--- Fails if a script on the GPU prints anything.
local function silent(variables, script)
  variables.JFL_DEVICE = "gpu"
  local out, status = emulated.run(variables, script)
  assert.equal("", out)
  assert.equal(0, status)
end

describe("weights in few bits on a GPU", function()
  -- A warp makes a number of each of up to 8 rows; more rows make tiles of 64 by 64 and 16 deep.
  -- The grid of one multiprocessor has 256 warps.
  it("are multiplied as the numbers that they stand for", function()
    silent({ JFL_EMULATED_MULTIPROCESSORS = 1 }, [[
      local flow = require "jfl"
      local nd = flow.ndarray
      local function product(form, rows, width, n)
        local x, w = nd.rand({ rows, width }) - 0.3, (nd.rand({ n, width }) - 0.5):astype(form)
        local wide = flow.cast(w:astype("float32"), "float64")
        local y = flow.matmul(x, w, { transpose_b = true })
        local want = flow.matmul(x:astype("float64"), wide, { transpose_b = true })
        local off = (y:astype("float64") - want):abs():max()
        if not (off < 2e-5) then print(form, rows, width, n, off) end
      end
      for _, form in ipairs { "q8_0", "q4_0", "q4_k", "q6_k", "float16", "bfloat16" } do
        local unit = form:find "_k" and 256 or 32
        for _, rows in ipairs { 1, 2, 7, 8, 9, 63, 64, 65 } do product(form, rows, unit, 33) end
        for _, n in ipairs { 1, 63, 64, 65, 255, 256, 257, 300 } do
          product(form, 1, 3 * unit, n)
          product(form, 10, unit, n)
        end
      end
      for _, width in ipairs { 1, 2, 3, 4, 5, 15, 16, 17, 127, 128, 129, 132 } do
        product("float16", 3, width, 5)
        product("bfloat16", 12, width, 5)
      end
    ]])
  end)

  it("are picked by rows and made floats", function()
    silent({ JFL_EMULATED_MULTIPROCESSORS = 1 }, [[
      local flow = require "jfl"
      local nd = flow.ndarray
      for _, form in ipairs { "q8_0", "q4_0", "q4_k", "q6_k" } do
        local w = (nd.rand({ 7, 2, 512 }) - 0.5):astype(form)
        local wide = w:astype("float32")
        local off = (flow.quantization.dequantize(w) - wide):abs():max()
        if off ~= 0 then print(form, off) end
        for axis = 0, 1 do
          local ids = nd.array({ { 1, 0 }, { 0, 1 } }, axis == 0 and "int32" or "int64")
          local got = flow.gather(w, ids, { axis = axis })
          local want = flow.gather(wide, ids, { axis = axis })
          if (got - want):abs():max() ~= 0 then print(form, axis) end
        end
        local ok, err = pcall(function() flow.gather(w, nd.array({ 7 }, "int32")):sum() end)
        if ok or not tostring(err):find("7", 1, true) then print(form, err) end
      end
    ]])
  end)

  it("make a language model that says what it says on the CPU", function()
    local directory = helper.directory()
    local net = flow.models.load "spec/lua/gguf/cases/llama.gguf"
    flow.quantization.quantize(net, { form = "q4_0" })
    local path = directory .. "/few.gguf"
    flow.gguf.save(net, path, { dtype = "q4_0" })
    local script = ([[
      local flow = require "jfl"
      local net = flow.models.load %q
      for _, prompt in ipairs { { 1, 5, 9, 260, 7, 7, 3, 8, 2, 11 }, { 4 } } do
        print(unpack(flow.generate(net, prompt, { max = 12, temperature = 0 })))
      end
      print(flow.get_all_variables()[net.name .. "-embed_tokens-weight"].dtype)
    ]]):format(path)
    local want = emulated.run({ JFL_DEVICE = "cpu", JFL_KERNELS = "reference" }, script)
    local got, status = emulated.run({ JFL_DEVICE = "gpu" }, script)
    helper.remove(directory)
    flow.clear_default_session()
    assert.equal(want, got)
    assert.equal(0, status, got)
    assert.truthy(got:find("\nq4_0\n", 1, true), got)
  end)
end)
