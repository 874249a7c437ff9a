-- os.exit is watched where it ends what a script began: in the command and in a stock luajit. Any
-- other program, such as those of spec/hosts, keeps its own.
local helper = require "spec.lua.helper"
local shell = require "spec.cmd.helper"

-- Prints whether os.exit is another function than before, and ends with a callback due.
local SCRIPT = [[
  local before = os.exit
  local flow = require "jfl"
  local tp = flow.typing
  local job = flow.global_function { name = "job", returns = tp.Callback(tp.Numpy),
    inputs = { { "x", tp.Numpy.Placeholder({ 1 }) } }, body = function(x) return x end }
  job({ 5 })(function(x) io.stdout:write("got ", x[1], "\n") end)
  io.stdout:write(os.exit == before and "kept" or "watched", "\n")
  os.exit(7)]]

local STOCK = "LUA_CPATH=build/?.so luajit "

local function run(command, head)
  local path = os.tmpname()
  local file = io.open(path, "w")
  file:write((head or "") .. SCRIPT)
  file:close()
  local out, err, status = shell.shell(command .. path)
  os.remove(path)
  assert.equal("", err)
  return out, status
end

describe("os.exit", function()
  it("runs what is due first in the command", function()
    assert.same({ "watched\ngot 5\n", 7 }, { run(shell.command() .. " ") })
  end)

  it("runs what is due first in a stock luajit", function()
    if shell.command():find("obj-", 1, true) then return end
    assert.same({ "watched\ngot 5\n", 7 }, { run(STOCK) })
    assert.same({ "watched\ngot 5\n", 7 }, { run((STOCK:gsub("luajit", "/usr/bin/%0"))) })
  end)

  it("is left alone in other programs, whatever they say of themselves", function()
    if shell.command():find("obj-", 1, true) then return end
    for _, head in ipairs { "arg = nil ", "arg[-1] = '/usr/bin/nvim' ", "arg[-1] = nil ",
      "arg = { [-2] = 'love', [-1] = 'luajit', [0] = 'game' } ", "arg = 'luajit' " } do
      assert.same({ "kept\n", 7 }, { run(STOCK, head) })
    end
  end)

  it("is left alone until a job may have calls that are out", function()
    local out = helper.script [[
      local before = os.exit
      local flow = require "jfl"
      local x = flow.nn.relu(flow.ndarray.ones { 2 })
      io.stdout:write(tostring(os.exit == before))]]
    assert.equal("true", out)
  end)
end)
