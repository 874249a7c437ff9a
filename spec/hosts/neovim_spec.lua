-- jfl inside Neovim, in its event loop, without a terminal.
local helper = require "spec.hosts.helper"

local script = [[
  package.path = "@ROOT@/?.lua;" .. package.path
  package.cpath = "@ROOT@/build/?.so;" .. package.cpath
  local guest = require("spec.hosts.guest").define()
  local first, last = guest.train(150)
  assert(last < first / 4)
  local due = vim.loop.new_poll(guest.fd())
  due:start("r", function(err)
    assert(not err, err)
    guest.poll(0.002)
  end)
  guest.submit(150)
  assert(vim.wait(300000, function() return guest.delivered == 150 end, 1))
  guest.keep "@PLACE@/saved"
  -- The editor itself is called from a callback, where its loop allows that.
  guest.ask(1.2, vim.schedule_wrap(function(y)
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { ("%.1f"):format(y) })
  end))
  assert(vim.wait(300000, function() return vim.fn.getline(1) == "0.9" end, 1))
  assert(guest.changed() == "", guest.changed())
  io.stdout:write("150 callbacks\n")
  guest.submit(100)
  vim.cmd "qall!"
]]

describe("Neovim #cpu #hosts", function()
  after_each(helper.clean)

  it("trains and asks in its loop, and quits with calls in flight", function()
    local missing = helper.missing "nvim"
    if missing then return pending(missing) end
    local out, err, status = helper.run { "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n",
      "-c", "luafile " .. helper.write("main.lua", script) }
    assert.same({ "150 callbacks\n", "", 0 }, { out, err, status })
    helper.row("Neovim", helper.version "neovim", "150 steps, then 150 by uv_poll on the "
      .. "descriptor, an answer written to a buffer, saved and loaded, quit with calls in flight")
  end)
end)
