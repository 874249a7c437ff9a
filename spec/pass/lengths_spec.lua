--- Attention on a GPU reads and writes heads behind lengths: results and gradients are as on the
-- CPU, which turns them.
local emulated = require "spec.dev.emulated"

-- Trains jobs of one layer and prints their losses, then how many steps of each plan only copy.
local ATTENDS = [[
  local flow = require "jfl"
  local tp = flow.typing
  local function weights(name, shape)
    return flow.get_variable(name, { shape = shape,
      initializer = flow.random_normal_initializer(0, 0.4) })
  end

  -- o: lengths n and m, heads, groups, the sizes of a head; mask, a shape; joint: one product gives
  -- queries, keys and values, in the order that it says; other: what reads queries turned, too.
  local function attends(o)
    flow.clear_default_session()
    flow.config.enable_auto_mixed_precision(o.mixed or false)
    flow.random.seed(3)
    local job = flow.global_function { name = "train", type = "train", returns = tp.Numpy,
      inputs = { { "x", tp.Numpy.Placeholder { 2, o.n, 6 } },
                 { "z", tp.Numpy.Placeholder { 2, o.m, 6 } } },
      body = function(x, z)
        local function heads(from, n, name, count, size)
          local flat = flow.matmul(flow.reshape(from, { 2 * n, 6 }),
            weights(name, { 6, count * size }))
          return flow.transpose(flow.reshape(flat, { 2, n, count, size }), { 0, 2, 1, 3 })
        end
        local q, k, v
        if o.joint then
          local sizes = { o.heads, o.groups, o.groups }
          local parts = { flow.split(heads(x, o.n, "all", o.heads + 2 * o.groups, o.size),
            sizes, 1) }
          q, k, v = parts[o.joint:find "q"], parts[o.joint:find "k"], parts[o.joint:find "v"]
        else
          q = heads(x, o.n, "q", o.heads, o.size)
          k, v = heads(z, o.m, "k", o.groups, o.size), heads(z, o.m, "v", o.groups, o.v_size)
        end
        local mask = o.mask and weights("mask", o.mask)
        local y = flow.nn.scaled_dot_product_attention(q, k, v, { causal = o.causal, mask = mask,
          dropout_rate = o.dropout })
        if not o.turned then y = flow.transpose(y, { 0, 2, 1, 3 }) end
        local loss = flow.math.reduce_mean(flow.math.square(y - 0.1))
        if o.other then loss = loss + flow.math.reduce_mean(flow.math.square(q)) end
        flow.optimizer.SGD(2, { momentum = 0 }):minimize(loss)
        return loss
      end }
    local x, z = flow.random.normal { 2, o.n, 6 }, flow.random.normal { 2, o.m, 6 }
    for _ = 1, 3 do print(("loss %.5f"):format(job(x, z):mean())) end
    local copies = 0
    for _, op in ipairs { "transpose", "split", "concat" } do
      copies = copies + select(2, job:plan():gsub("%s%d+  " .. op .. " ", ""))
    end
    print("copies " .. copies)
    print("by " .. job:plan():match "attention_grad +(%S+)")
  end
]]

--- The losses and the copies of a run.
local function run(variables, body)
  local out, status = emulated.run(variables, ATTENDS .. body)
  assert.equal(0, status, out)
  local losses, copies = {}, {}
  for loss in out:gmatch "loss (%S+)" do losses[#losses + 1] = tonumber(loss) end
  for n in out:gmatch "copies (%d+)" do copies[#copies + 1] = tonumber(n) end
  assert.truthy(#losses > 0)
  return losses, copies, out
end

--- Checks losses beside the CPU's; gives how many copies each plan makes, and what was printed.
local function beside(body, tolerance)
  local want = run({ JFL_DEVICE = "cpu" }, body)
  local got, copies, out = run({ JFL_DEVICE = "gpu", JFL_TF32 = 0 }, body)
  for i in ipairs(want) do
    assert.near(want[i], got[i], (tolerance or 3e-5) * math.max(1, want[i]))
  end
  return copies, out
end

describe("attention on a GPU reads heads behind lengths", function()
  it("of queries, keys and values, around tiles", function()
    assert.same({ 0, 0, 0, 0 }, beside [[
      attends { n = 65, m = 63, heads = 3, groups = 3, size = 5, v_size = 7 }
      attends { n = 3, m = 130, heads = 4, groups = 2, size = 33, v_size = 16 }
      attends { n = 64, m = 64, heads = 2, groups = 1, size = 8, v_size = 8, causal = true }
      attends { n = 1, m = 1, heads = 1, groups = 1, size = 4, v_size = 4 }
    ]])
  end)

  it("with masks of numbers, which learn, and weights that are dropped", function()
    assert.same({ 0, 0, 0 }, beside [[
      attends { n = 65, m = 20, heads = 3, groups = 3, size = 5, v_size = 7, mask = { 65, 20 } }
      attends { n = 9, m = 7, heads = 4, groups = 2, size = 8, v_size = 8, mask = { 4, 1, 7 } }
      attends { n = 9, m = 9, heads = 4, groups = 2, size = 8, v_size = 8, dropout = 0.3 }
    ]])
  end)

  it("of parts of one product, which are not copied", function()
    assert.same({ 0, 0, 0 }, beside [[
      attends { n = 10, m = 3, heads = 2, groups = 2, size = 8, joint = "qkv", causal = true }
      attends { n = 70, m = 3, heads = 6, groups = 3, size = 5, joint = "qkv", dropout = 0.3 }
      attends { n = 65, m = 3, heads = 2, groups = 1, size = 5, joint = "qkv", mask = { 65, 65 } }
    ]])
  end)

  it("in 16 bits by cuDNN", function()
    local copies, out = beside([[
      attends { n = 160, m = 3, heads = 2, groups = 2, size = 8, joint = "qkv", causal = true,
        mixed = true }
      attends { n = 165, m = 3, heads = 3, groups = 3, size = 16, joint = "qkv", mixed = true }
    ]], 1e-2)
    assert.same({ 0, 0 }, copies)
    assert.equal(2, select(2, out:gsub("by cudnn_attention", "")), out)
  end)

  it("but splits what has another order", function()
    assert.same({ 2 }, beside [[
      attends { n = 10, m = 3, heads = 2, groups = 2, size = 8, joint = "kqv" }
    ]])
  end)

  it("but turns what others read turned", function()
    local copies = beside [[
      attends { n = 10, m = 9, heads = 2, groups = 2, size = 8, v_size = 8, turned = true }
      attends { n = 10, m = 9, heads = 2, groups = 2, size = 8, v_size = 8, other = true }
    ]]
    for _, n in ipairs(copies) do assert.truthy(n > 0) end
  end)
end)
