local flow = require "jfl"
local helper = require "spec.lua.helper"

local loop = flow.data.loop

describe("the step after a step", function()
  local steps = require "jfl.data.loop"

  local function shown(step)
    return step and { step.epoch, step.first, step.last, step.order and #step.order }
  end

  it("is in the same epoch, in the next one, or none", function()
    local of = { name = "it", items = 5, size = 2, epochs = 2, own_seed = 3 }
    assert.same({ 1, 3, 4 }, shown(steps.following(of, { epoch = 1, first = 1, last = 2 })))
    assert.same({ 1, 5, 5 }, shown(steps.following(of, { epoch = 1, first = 3, last = 4 })))
    assert.same({ 2, 1, 2 }, shown(steps.following(of, { epoch = 1, first = 5, last = 5 })))
    assert.is_nil(steps.following(of, { epoch = 2, first = 5, last = 5 }))
  end)

  it("leaves out a smaller last one, and goes in the order of its epoch", function()
    local of = { name = "it", items = 5, size = 2, epochs = 3, own_seed = 3, drop_last = true,
      shuffle = true }
    local last = { epoch = 2, first = 3, last = 4, order = { 5, 4, 3, 2, 1 }, seed = 3 }
    local step = steps.following(of, last)
    assert.same({ 3, 1, 2, 5 }, shown(step))
    assert.same(steps.order(of, 3, 3), step.order)
    assert.equal(last.order, steps.following(of, { epoch = 2, first = 1, last = 2, seed = 3,
      order = last.order }).order)
  end)
end)

describe("data.loop", function()
  local directory, path, check_point

  before_each(function()
    flow.clear_default_session()
    directory = helper.directory()
    path = directory .. "/model"
    check_point = flow.train.CheckPoint()
  end)

  after_each(function()
    flow.clear_default_session()
    helper.remove(directory)
  end)

  local DATA = { 10, 20, 30, 40 }

  -- The items that a loop gives as "epoch.number=value", at most n of them.
  local function take(source, n)
    local seen = {}
    while #seen < (n or math.huge) do
      local epoch, i, value = source()
      if not epoch then break end
      seen[#seen + 1] = ("%d.%d=%g"):format(epoch, i, value)
    end
    return table.concat(seen, " ")
  end

  local function save() check_point:save(path, { overwrite = true }) end
  local function load()
    local report = check_point:load(path, { resume = true })
    return report
  end

  -- Puts the session into the state that a new process finds.
  local function restart(fn)
    flow.clear_default_session()
    load()
    return fn and fn()
  end

  it("goes through every item of every epoch", function()
    local seen = {}
    for epoch, i, value in loop({ { 7, 8 } }, { epochs = 2 }) do
      seen[#seen + 1] = { epoch, i, value }
    end
    assert.same({ { 1, 1, 7 }, { 1, 2, 8 }, { 2, 1, 7 }, { 2, 2, 8 } }, seen)
  end)

  it("gives the columns that it is told to, in their order", function()
    local data = { state = { 1, 2 }, action = { 3, 4 }, reward = { 5, 6 } }
    local _, _, state, action, more = loop(data, { columns = { "state", "action" } })()
    assert.same({ 1, 3 }, { state, action, more })
    flow.data.close_loop()
    local _, _, second, first = loop({ { 1 }, { 2 } }, { columns = { 2, 1 } })()
    assert.same({ 2, 1 }, { second, first })
    flow.data.close_loop()
    helper.fails(function() loop(data, { columns = { "state", "actoin" } }) end,
      "data.loop: columns: source has no column 'actoin'; did you mean action?")
    helper.fails(function() loop(data, { columns = {} }) end,
      "data.loop: columns must be a list of names such as {\"state\", \"action\"}")
    helper.fails(function() loop(data, { columns = "state" }) end,
      "data.loop: columns must be a table, got string 'state'")
  end)

  it("gives columns in the order of a list of pairs, or of a list", function()
    local nd = flow.ndarray
    local images = nd.array({ { 5, 6 }, { 7, 8 } })
    local data = { { "z", images }, { "a", nd.array({ 1, 2 }) } }
    local _, _, first, second = loop(data)()
    assert.same({ 5, 6 }, first:totable())
    assert.equal(1, second)
    flow.data.close_loop()
    local _, _, action = loop(data, { columns = { "a" } })()
    assert.equal(1, action)
    flow.data.close_loop()
    assert.equal(2, select("#", select(3, loop({ { 1 }, { 2 } })())))
    flow.data.close_loop()
    assert.same({ 5, 6 }, select(3, loop(images)()):totable())
  end)

  it("refuses a table with names of which nobody said the order", function()
    local data = { state = { 1, 2 }, action = { 3, 4 } }
    helper.fails(function() loop(data) end, "data.loop: source is a table with names, which Lua "
      .. "keeps in no order; say in which they come: {columns = {\"action\", \"state\"}}")
    data[1], data[2] = { 5, 6 }, { 7, 8 }
    helper.fails(function() loop(data) end, "{columns = {1, 2, \"action\", \"state\"}}")
    local _, _, first, state = loop(data, { columns = { 1, "state" } })()
    assert.same({ 5, 1 }, { first, state })
    flow.data.close_loop()
    assert.equal(1, select(3, loop({ state = { 1, 2 } })()))
  end)

  it("continues behind the item that was handed out last", function()
    local whole = take(loop({ DATA }, { epochs = 3 }))
    for done = 1, 11 do
      flow.clear_default_session()
      local before = take(loop({ DATA }, { epochs = 3 }), done)
      save()
      restart(function()
        assert.equal(whole, before .. " " .. take(loop({ DATA }, { epochs = 3 })))
      end)
    end
  end)

  it("continues if it is made before the checkpoint is loaded, too", function()
    take(loop({ DATA }, { epochs = 2 }), 5)
    save()
    flow.clear_default_session()
    local again = loop({ DATA }, { epochs = 2 })
    load()
    assert.equal("2.2=20 2.3=30 2.4=40", take(again))
  end)

  it("goes back where a checkpoint is loaded in the middle of it", function()
    local source = loop({ DATA })
    take(source, 1)
    save()
    assert.equal("1.2=20 1.3=30", take(source, 2))
    load()
    assert.equal("1.2=20 1.3=30 1.4=40", take(source))
    load()
    assert.equal("1.2=20 1.3=30 1.4=40", take(loop({ DATA })))
  end)

  it("has an order for each epoch that the seed, the name and the epoch decide", function()
    local items = {}
    for i = 1, 50 do items[i] = i end
    local function order(seed, name)
      flow.random.seed(seed)
      local text = take(loop({ items }, { epochs = 2, shuffle = true, name = name }))
      text = text:gsub("%S*=", "")
      local first, second = {}, {}
      for value in text:gmatch("%d+") do
        table.insert(#first < 50 and first or second, tonumber(value))
      end
      return first, second
    end
    local first, second = order(1, "a")
    assert.are_not.same(first, second)
    assert.same({ first, second }, { order(1, "a") })
    assert.are_not.same(first, (order(2, "a")))
    assert.are_not.same(first, (order(1, "b")))
    table.sort(first)
    assert.same(items, first)
  end)

  it("continues in the order that it had, whatever was seeded since", function()
    local o = { epochs = 3, shuffle = true }
    local source = loop({ DATA }, o)
    take(source, 5)
    flow.random.seed(99)
    save()
    local want = take(source)
    restart(function() assert.equal(want, take(loop({ DATA }, o))) end)
  end)

  it("gives nothing where it was at its end, says so, and continues with more epochs", function()
    take(loop({ DATA }, { epochs = 2 }))
    save()
    restart()
    local said = helper.stderr_of(function()
      assert.equal("", take(loop({ DATA }, { epochs = 2 })))
    end)
    assert.truthy(said:find("loop 'train': was at its end", 1, true))
    restart()
    assert.equal("3.1=10 3.2=20 3.3=30 3.4=40", take(loop({ DATA }, { epochs = 3 })))
  end)

  it("counts the loops of a name", function()
    for _ = 1, 2 do take(loop({ DATA })) end
    take(loop({ DATA }), 1)
    save()
    restart()
    local texts = {}
    for i = 1, 4 do texts[i] = take(loop({ DATA })) end
    assert.same({ "", "", "1.2=20 1.3=30 1.4=40", "1.1=10 1.2=20 1.3=30 1.4=40" }, texts)
  end)

  it("keeps the place of a loop that a resumed run has not made yet", function()
    take(loop({ DATA }, { name = "a" }), 3)
    save()
    restart(save)
    restart(function() assert.equal("1.4=40", take(loop({ DATA }, { name = "a" }))) end)
  end)

  it("does not keep a loop inside an item of another", function()
    local function run(source, items)
      local seen = {}
      for _ = 1, items do
        local _, i = source()
        if not i then break end
        seen[#seen + 1] = i .. ":" .. take(loop({ { 1, 2 } }, { name = "test" }), i == 2 and 1)
      end
      return table.concat(seen, " ")
    end
    assert.equal("1:1.1=1 1.2=2 2:1.1=1", run(loop({ DATA }), 2))
    save()
    restart(function() assert.equal("3:1.1=1 1.2=2 4:1.1=1 1.2=2", run(loop({ DATA }), 4)) end)
  end)

  it("keeps two loops side by side", function()
    local a, b = loop({ DATA }, { name = "a" }), loop({ { 1, 2, 3 } }, { name = "b" })
    take(a, 2)
    take(b, 1)
    save()
    restart(function()
      a, b = loop({ DATA }, { name = "a" }), loop({ { 1, 2, 3 } }, { name = "b" })
      assert.equal("1.2=2 1.3=3", take(b))
      assert.equal("1.3=30 1.4=40", take(a))
    end)
  end)

  it("stays where it is unless it is to go on", function()
    take(loop({ DATA }))
    save()
    check_point:load(path)                      -- back to the best, and carry on
    assert.equal("1.1=10 1.2=20 1.3=30 1.4=40", take(loop({ DATA })))
    local source = loop({ DATA })
    take(source, 3)
    save()
    check_point:load(path)
    assert.equal("1.4=40", take(source))
    flow.clear_default_session()
    local said = helper.stderr_of(function() check_point:load(path) end)
    assert.equal("1.1=1 1.2=2 1.3=3", take(loop({ { 1, 2, 3 } })))      -- and on other data
    assert.equal("1.1=10 1.2=20 1.3=30 1.4=40", take(loop({ DATA }, { shuffle = false })))
    assert.equal("", said)
  end)

  it("says where it goes on", function()
    local first = loop({ DATA }, { epochs = 2 })
    take(first, 6)
    save()
    local where = "goes on where the checkpoint was saved, in epoch 2 of 2 behind item 2 of 4"
    assert.truthy(helper.stderr_of(load):find("loop 'train': " .. where, 1, true))
    restart()
    local said = helper.stderr_of(function() loop({ DATA }, { epochs = 2 }) end)
    assert.truthy(said:find("loop 'train': " .. where, 1, true))
    flow.clear_default_session()
    assert.equal("", helper.stderr_of(function() take(loop({ DATA })) end))
  end)

  it("goes on after ranks were started again", function()
    helper.remove(directory)
    directory = helper.directory()
    local script = ([[
      local flow = require "jfl"
      local check_point = flow.train.CheckPoint()
      if os.getenv "JFL_RESTARTS" then check_point:load(%q) end
      for epoch, i in flow.data.loop({ { 5, 6, 7 } }) do
        io.write(i, " ")
        if i == 2 and not os.getenv "JFL_RESTARTS" then return check_point:save(%q) end
      end]]):format(path, path)
    assert.equal("1 2 ", (helper.script(script)))
    assert.equal("1 2 3 ", (helper.script(script, "JFL_RESTARTS=0")))
    assert.truthy((helper.script(script, "JFL_RESTARTS=1")):find("3 $"))
  end)

  it("takes no part of a checkpoint to go on", function()
    save()
    helper.fails(function() check_point:load(path, { only = "w", resume = true }) end,
      "load: resume = true takes the whole state of the run, so it goes with no `only`")
    helper.fails(function() check_point:load(path, { resume = 1 }) end,
      "load: resume must be a boolean")
  end)

  it("may have the name of another that is not at its end", function()
    for _, i in loop({ DATA }) do
      if i == 2 then break end
    end
    local a, b = loop({ DATA }), loop({ { 1, 2, 3 } })
    assert.equal("1.1=10 1.2=20", take(a, 2))
    assert.equal("1.1=1", take(b, 1))
    save()
    restart()
    assert.equal("", take(loop({ DATA })))       -- the first, which a break left
    a, b = loop({ DATA }), loop({ { 1, 2, 3 } })
    assert.equal("1.2=2 1.3=3", take(b))
    assert.equal("1.3=30 1.4=40", take(a))
    assert.equal("1.1=10", take(loop({ DATA }), 1))
  end)

  it("may have the name of the one around it", function()
    local function whole(from)
      local seen = {}
      for _, i in loop({ DATA }) do
        seen[#seen + 1] = i .. ":" .. take(loop({ { 1, 2 } }))
        for _, k in flow.progress(loop({ { 1, 2 } })) do
          if k == 1 then break end
        end
        if i == 2 and from == 1 then
          save()
          break
        end
      end
      return table.concat(seen, " ")
    end
    helper.stderr_of(function()
      assert.equal("1:1.1=1 1.2=2 2:1.1=1 1.2=2", whole(1))
      assert.equal("1.1=10", take(loop({ DATA }), 1))
      restart()
      assert.equal("3:1.1=1 1.2=2 4:1.1=1 1.2=2", whole(3))
      assert.equal("1:1.1=1 1.2=2 2:1.1=1 1.2=2 3:1.1=1 1.2=2 4:1.1=1 1.2=2", whole(5))
    end)
  end)

  it("that a break left is no obstacle to those that follow", function()
    for _, i in loop({ DATA }) do
      if i == 1 then break end
    end
    for _, i in flow.progress(loop({ DATA })) do
      if i == 2 then break end
    end
    for _, i in loop({ DATA }, { name = "b" }) do
      if i == 3 then
        save()
        break
      end
    end
    restart(function()
      assert.equal("1.4=40", take(loop({ DATA }, { name = "b" })))
      assert.equal("", take(loop({ DATA })))
      assert.equal("1.3=30 1.4=40", take(loop({ DATA })))
      assert.equal("1.1=10", take(loop({ DATA }), 1))
    end)
  end)

  it("goes on after a break, in the same loop or in another run", function()
    local source = loop({ DATA }, { epochs = 2 })
    for _, i in source do
      if i == 2 then break end
    end
    save()
    assert.equal("1.3=30", take(source, 1))
    load()
    assert.equal("1.3=30", take(source, 1))
    restart(function()
      assert.equal("1.3=30 1.4=40", take(loop({ DATA }, { epochs = 2 }), 2))
    end)
  end)

  it("is closed by its name, or by itself", function()
    local left = loop({ DATA })
    take(left, 2)
    assert.is_true(flow.data.close_loop("train"))
    assert.is_false(flow.data.close_loop("train"))
    local source = loop({ DATA })
    take(source, 1)
    source:close()
    assert.is_nil(source())
    assert.equal(4, #DATA)
    assert.truthy(loop({ DATA })())
  end)

  it("counts no loops inside an item, however deep", function()
    local seen = {}
    for _ in loop({ DATA }, { name = "outer" }) do
      for _, i in loop({ DATA }, { name = "middle" }) do
        take(loop({ DATA }, { name = "whole" }))
        for _, k in loop({ DATA }, { name = "inner" }) do
          seen[#seen + 1] = k
          if k == 2 then break end
        end
        if i == 2 then break end
      end
    end
    assert.equal(("12"):rep(8), table.concat(seen))
    for _, name in ipairs { "middle", "inner" } do
      assert.equal("1.1=10", take(loop({ DATA }, { name = name }), 1))
    end
  end)

  it("refuses data that are not those of the checkpoint", function()
    take(loop({ DATA }), 2)
    save()
    restart()
    helper.fails(function() loop({ { 1, 2, 3 } }) end,
      "loop 'train': the checkpoint was saved behind item 2 of 4, and now there are 3 items")
    helper.fails(function() loop({ DATA }, { shuffle = true }) end,
      "behind item 2 of 4 with shuffle = false, and now it is true")
    assert.equal("1.3=30 1.4=40", take(loop({ DATA })))
    flow.clear_default_session()
    flow.random.seed(5)
    local before = flow.get_all_variables()
    local source = loop({ { 1, 2, 3 } })
    helper.fails(load, "loop 'train': the checkpoint was saved behind item 2 of 4")
    assert.equal("1.1=1 1.2=2 1.3=3", take(source))
    assert.same(before, flow.get_all_variables())
  end)

  it("tells flow.progress how many items are left", function()
    local source = loop({ DATA }, { epochs = 2 })
    take(source, 3)
    assert.equal(5, source.n)
    local said = helper.stderr_of(function()
      local count = 0
      for _ in flow.progress(source) do count = count + 1 end
      assert.equal(5, count)
    end)
    assert.truthy(said:find("5/5", 1, true))
    assert.equal(0, source.n)
  end)

  it("shows where it is", function()
    local source = loop({ DATA }, { epochs = 2 })
    take(source, 5)
    assert.equal("loop 'train': epoch 2 of 2, item 1 of 4", tostring(source))
  end)

  it("names what is wrong", function()
    helper.fails(function() loop() end, "data.loop: argument 1 'source' is missing")
    helper.fails(function() loop(3) end, "data.loop: source must be a data set")
    helper.fails(function() loop({}) end, "source must be a data set as load_mnist gives it")
    helper.fails(function() loop({ { "a", { 1 } }, { "b", { 1, 2 } } }) end,
      "'b' must be as long as 'a', 1, got 2")
    helper.fails(function() loop({ a = {} }) end, "'a' has no items")
    helper.fails(function() loop({ images = 5 }) end, "'images' must be an NdArray or a list")
    helper.fails(function() loop({ DATA }, { epochs = 0 }) end, "epochs must be a whole number")
    helper.fails(function() loop({ DATA }, { name = "" }) end,
      "name must be a string that is not empty")
    helper.fails(function() loop({ DATA }, { shuffle = 1 }) end, "shuffle must be a boolean")
    helper.fails(function() loop({ DATA }, { epoch = 2 }) end, "unknown option 'epoch'")
    helper.fails(function() loop({ DATA }).close() end, "close: call it with a colon: loop:close()")
  end)
end)
