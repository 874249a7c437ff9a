local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

local manager_of = flow.train.SimpleCheckPointManager

describe("SimpleCheckPointManager", function()
  local root, job

  before_each(function()
    flow.clear_default_session()
    root = helper.directory()
    job = helper.train("t")
  end)

  after_each(function() helper.remove(root) end)

  local function put(name, text)
    os.execute(("mkdir -p '%s/%s'"):format(root, name:match("^(.*)/") or ""))
    local f = assert(io.open(root .. "/" .. name, "wb"))
    f:write(text or "")
    f:close()
  end

  local function exists(name) return os.execute(("test -e '%s/%s'"):format(root, name)) == 0 end

  local function weights() return flow.get_all_variables().w:totable() end

  -- Runs fn while the clock stands still at this time.
  local function at(seconds, microseconds, fn)
    local clock = core.clock
    core.clock = function() return seconds, microseconds end
    local ok, err = pcall(fn)
    core.clock = clock
    if not ok then error(err, 0) end
  end

  it("creates and saves where there is nothing, and restores the newest", function()
    local manager = manager_of(root .. "/runs/")
    assert.same({}, manager:list_checkpoints())
    assert.is_nil(manager:latest_checkpoint())
    local report, first = manager:initialize_or_restore()
    assert.is_nil(report)
    assert.same({ first }, manager:list_checkpoints())
    assert.matches("^snapshot_%d%d%d%d%d%d%d%d_%d%d%d%d%d%d_%d%d%d%d%d%d$", first)
    job({ 1, 2 })
    local want = weights()
    local second = manager:save()
    job({ 1, 2 })
    assert.equal(second, manager:latest_checkpoint())
    local name
    report, name = manager:initialize_or_restore()
    assert.equal(second, name)
    assert.equal(2, #report.loaded)
    assert.same(want, weights())
    assert.same({ first, second }, manager:list_checkpoints())
  end)

  it("gives names that are unique and in order, whatever the clock says", function()
    local manager, saved = manager_of(root), {}
    at(1e9, 999998, function()
      for i = 1, 4 do saved[i] = manager:save() end
    end)
    at(1e8, 0, function() saved[5] = manager:save() end)
    at(1.1e9, 0, function() saved[6] = manager:save() end)
    assert.same(saved, manager:list_checkpoints())
    assert.equal(os.date("snapshot_%Y%m%d_%H%M%S_999998", 1e9), saved[1])
    assert.equal(os.date("snapshot_%Y%m%d_%H%M%S_000000", 1e9 + 1), saved[3])
    assert.equal(os.date("snapshot_%Y%m%d_%H%M%S_000002", 1e9 + 1), saved[5])
  end)

  it("keeps the last, and what it did not write", function()
    local manager = manager_of(root, { prefix = "a_", keep = 2 })
    put("a_20000101_000000_000000/model.safetensors", "other")
    put("a_20000101_000000_000000/notes.txt", "mine")
    put("a_20000102_000000_000000/snapshot_done")
    put("a_20000102_000000_000000/w/out", "12345678")
    put("a_best/model.safetensors", "other")
    put("b_20000101_000000_000000/model.safetensors", "other")
    local saved = {}
    for i = 1, 4 do saved[i] = manager:save() end
    assert.same({ "a_20000101_000000_000000", "a_20000102_000000_000000", saved[3], saved[4] },
      manager:list_checkpoints())
    assert.is_false(exists(saved[1]))
    assert.is_true(exists("a_best/model.safetensors"))
    assert.is_true(exists("a_20000101_000000_000000/notes.txt"))
    assert.is_true(exists("a_20000101_000000_000000/model.safetensors"))
    assert.is_true(exists("b_20000101_000000_000000/model.safetensors"))
  end)

  it("removes nothing before the new one is whole", function()
    local manager = manager_of(root, { keep = 1 })
    local first = manager:save()
    local save = core.save
    core.save = function() error("the disk is full", 0) end
    local ok = pcall(manager.save, manager)
    core.save = save
    assert.is_false(ok)
    assert.same({ first }, manager:list_checkpoints())
    local second = manager:save()
    assert.same({ second }, manager:list_checkpoints())
  end)

  it("neither lists nor keeps what a save that was cut short left", function()
    local manager = manager_of(root)
    local first = manager:save()
    put("snapshot_20990101_000000_000000.saving/model.safetensors", "half")
    put("snapshot_20980101_000000_000000/model.safetensors.saving", "half")
    put("snapshot_x.saving/model.safetensors", "mine")
    assert.same({ first }, manager:list_checkpoints())
    local second = manager:save()
    assert.same({ first, second }, manager:list_checkpoints())
    assert.is_false(exists("snapshot_20990101_000000_000000.saving"))
    assert.is_true(exists("snapshot_x.saving/model.safetensors"))
  end)

  it("restores what OneFlow's manager saved", function()
    put("snapshot_20200101_000000_000000/w/out", ("\0\0\0\64"):rep(2))
    put("snapshot_20200101_000000_000000/snapshot_done")
    put("snapshot_20200102_000000_000000/w/out", ("\0\0\0\65"):rep(2))
    local report = manager_of(root):initialize_or_restore()
    assert.same({ "w" }, report.loaded)
    assert.same({ 2, 2 }, weights())
  end)

  it("names what is wrong", function()
    local manager = manager_of(root)
    local name = manager:save()
    put(name .. "/model.safetensors", "damaged")
    helper.fails(function() manager:initialize_or_restore() end, name)
    helper.fails(function() manager.save() end, "save: call it with a colon: manager:save(...)")
    helper.fails(function() manager_of() end, "argument 1 'root_path' is missing")
    helper.fails(function() manager_of("") end, "root_path must not be empty")
    helper.fails(function() manager_of(5) end, "root_path must be a string, got number 5")
    helper.fails(function() manager_of(root, "a/b") end, "prefix must be a part of a name")
    helper.fails(function() manager_of(root, { keep = 0 }) end, "keep must be a whole number")
    put("file", "x")
    helper.fails(function() manager_of(root .. "/file"):save() end, "cannot list the directory")
    assert.truthy(tostring(manager):find(root .. "/snapshot_*", 1, true))
  end)
end)
