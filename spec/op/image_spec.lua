--- Random parts of pictures: where they may be, what they hold, and how gradients go back.
local core = require "jfl.core"
local support = require "spec.op.support"

describe("random_crop", function()
  local crop = core.op "random_crop"

  teardown(core.reset)

  local N, H, W = 60, 3, 4

  -- Pictures whose pixels tell where they are: 100 i + 10 row + column, rows and columns from 1.
  local function pictures()
    local list = {}
    for i = 1, N do
      local rows = {}
      for y = 1, H do
        rows[y] = {}
        for x = 1, W do rows[y][x] = 100 * i + 10 * y + x end
      end
      list[i] = { rows }
    end
    return core.from_table(list, "float64")
  end

  it("has a gradient for pictures without rows", function()
    local plan = support.plan({ { dtype = "float32", shape = { 1, 3, 0, 6 } } }, function(g, blobs)
      local y = crop(blobs[1], { size = { 1, 3 }, padding = 2 })
      return core.gradients(g, y, core.op "ones_like"(y), { blobs[1] })
    end)
    local dx = core.run(plan, core.array("float32", { 1, 3, 0, 6 }))
    assert.same({ 1, 3, 0, 6 }, dx.shape)
    core.plan_free(plan)
  end)

  it("takes every part that fits, mirrored or not, each from its own picture", function()
    core.set("seed", 3)
    local y = support.flat(crop(pictures(), { size = { 2, 2 }, flip = 0.5 }))
    local seen, kinds = {}, 0
    for i = 1, N do
      local a, b, c, d = y[4 * i - 3], y[4 * i - 2], y[4 * i - 1], y[4 * i]
      assert.equal(10, c - a)
      assert.equal(10, d - b)
      assert.equal(1, math.abs(b - a))
      assert.equal(i, math.floor(a / 100))
      local kind = ("%d %d"):format(math.min(a, b) % 100, b - a)
      kinds, seen[kind] = kinds + (seen[kind] and 0 or 1), true
    end
    assert.equal(2 * (H - 1) * (W - 1), kinds)
  end)

  it("draws other parts in every call, and the same from the same seed", function()
    local x = pictures()
    core.set("seed", 5)
    local first, second = support.flat(crop(x, { size = { 2, 2 } })),
      support.flat(crop(x, { size = { 2, 2 } }))
    assert.is_false(support.close(first, second, 0))
    core.set("seed", 5)
    assert.is_true(support.close(support.flat(crop(x, { size = { 2, 2 } })), first, 0))
  end)

  it("surrounds pictures with zeros", function()
    local x = core.from_table({ { { { 7 } } } }, "float64")
    local seen = {}
    for _ = 1, 60 do
      local y = support.flat(crop(x, { size = { 1, 1 }, padding = 1 }))
      seen[y[1]] = true
      local whole = support.flat(crop(x, { size = { 3, 3 }, padding = 1 }))
      assert.same({ 0, 0, 0, 0, 7, 0, 0, 0, 0 }, whole)
    end
    assert.same({ [0] = true, [7] = true }, seen)
  end)

  it("sends gradients back to where values came from", function()
    for _, format in ipairs { "NCHW", "NHWC" } do
      local shape, part = { 5, 4, 6, 3 }, { 5, 4, 5, 7 }
      local o = { size = { 5, 7 }, padding = { 1, 3 }, flip = 0.5, data_format = format }
      if format == "NHWC" then part = { 5, 5, 7, 3 } end
      local specs = { { dtype = "float64", shape = shape }, { dtype = "float64", shape = part } }
      local plan = support.plan(specs, function(g, blobs)
        local y = crop(blobs[1], o)
        return { y, core.gradients(g, y, blobs[2], { blobs[1] })[1] }
      end)
      local x, dy = support.filled("float64", shape, 1, 2), support.filled("float64", part, 3, 4)
      local y, dx = core.run(plan, x, dy)
      -- y is linear in x, so <y, dy> = <x, dx>
      local left, right, taken = 0, 0, 0
      y, dx, x, dy = support.flat(y), support.flat(dx), support.flat(x), support.flat(dy)
      for i = 1, #y do left = left + y[i] * dy[i] end
      for i = 1, #x do
        right = right + x[i] * dx[i]
        if dx[i] ~= 0 then taken = taken + 1 end
      end
      assert.is_true(math.abs(left - right) < 1e-9 * math.abs(left))
      assert.is_true(taken > 100 and left > 100, taken)
    end
  end)
end)

describe("pictures at another size", function()
  teardown(core.reset)

  it("take the nearest pixel where it begins at the edge of a new one", function()
    for _, dtype in ipairs { "float32", "float64", "uint8" } do
      local y = core.op "image_resize"(core.from_table({ { { { 1 }, { 2 } } } }, dtype),
        { size = { 1, 98 }, interpolation = "nearest" })
      local list = support.flat(y)
      assert.same({ 1, 2 }, { list[49], list[50] }, dtype)
    end
  end)

  it("leave out what has no weight, which may be infinite", function()
    for _, dtype in ipairs { "float32", "float64" } do
      for _, name in ipairs { "image_resize", "upsample_2d" } do
        for _, channels in ipairs { 1, 9, 16 } do
          local function pixel(v)
            local list = {}
            for i = 1, channels do list[i] = v end
            return list
          end
          local x = core.from_table({ { { pixel(1), pixel(2), pixel(1 / 0) } } }, dtype)
          local y = core.op(name)(x, { size = { 3, 9 }, interpolation = "bilinear",
            data_format = "NHWC" })
          local list = support.flat(y)
          for row = 0, 2 do
            local at = 9 * channels * row
            assert.equal(1, list[at + 1], name)
            assert.equal(2, list[at + 4 * channels + 1], name)
            assert.equal(1 / 0, list[at + 7 * channels + 1], name)
          end
        end
      end
    end
  end)
end)
