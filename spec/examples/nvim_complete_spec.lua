-- examples/nvim-complete in a Neovim that has a terminal, and in one that has none.
local helper = require "spec.hosts.helper"

local TEXT = ([[
local function add(first, second) return first + second end
local function sub(first, second) return first - second end
for index, value in ipairs(list) do print(index, value) end
]]):rep(30)

local INIT = [[
vim.opt.rtp:prepend "@ROOT@/examples/nvim-complete"
vim.cmd "runtime plugin/jfl_complete.lua"
require("jfl").random.seed(1)
require("jfl_complete").setup()
vim.o.completefunc, vim.o.swapfile = "v:lua.jfl_complete", false
]]

-- The editor whose terminal another one runs in: it types, and tells what is on the screen. What is
-- typed too early for a busy machine is typed again.
local TYPIST = [[
vim.o.columns, vim.o.lines = 76, 20
local job = vim.fn.termopen({ "nvim", "--clean", "-u", "@PLACE@/init.lua", "@PLACE@/text.lua" },
  { on_exit = function(_, code) io.stdout:write("exit ", code, "\n") end })
local function screen() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") end
local function see(pattern)
  local seen = vim.wait(300000, function() return screen():find(pattern) ~= nil end, 10)
  io.stdout:write(screen(), seen and "\nseen\n" or "\nnot seen: " .. pattern .. "\n")
end
local function write(keys)
  for key in keys:gmatch "." do
    vim.fn.chansend(job, key)
    vim.wait(20)
  end
end
see "text.lua"
local function status(pattern)
  for _ = 1, 100 do
    write "\28\14:JflComplete\13"
    if vim.wait(1000, function() return screen():find(pattern) ~= nil end, 10) then break end
    write "\13"
  end
  see(pattern)
  write "\13"
end
status "waits for changes"
write "Golocal function add(first, s"
see "\nlocal function add%(first, second *\n[^\n]*%+"
write "\12) return fi"
local chosen = "\nlocal function add%(first, second%) return first *\n[^\n]*%+"
for _ = 1, 100 do
  write "\24\21"
  if vim.wait(1000, function() return screen():find(chosen) ~= nil end, 10) then break end
end
see(chosen)
status "a key"
write ":qa!\13"
vim.wait(300000, function() return vim.fn.jobwait({ job }, 0)[1] ~= -1 end, 10)
vim.cmd "qa!"
]]

describe("completion in Neovim #cpu", function()
  local missing = helper.missing("nvim")

  before_each(function()
    if missing then return end
    helper.write("text.lua", TEXT)
    helper.write("init.lua", INIT)
  end)
  after_each(helper.clean)

  local function nvim(...)
    local place = helper.place()
    return helper.run { env = { HOME = place, XDG_DATA_HOME = place, XDG_CONFIG_HOME = place,
      XDG_STATE_HOME = place, TERM = "xterm" }, "nvim", "--headless", ... }
  end

  -- Runs a script in an editor that has begun, and gives what it prints.
  local function script(text, ...)
    local out, err, status = nvim("--clean", "-u", helper.place() .. "/init.lua", "-c",
      "luafile " .. helper.write("script.lua", text .. '\nvim.cmd "qa!"'), ...)
    assert.equal(0, status, out .. err)
    assert.equal("", out)
    return err
  end

  local function test(name, fn)
    it(name, function()
      if missing then return pending(missing) end
      fn()
    end)
  end

  test("shows what it expects behind the cursor, and a menu, and what time it takes", function()
    local out = nvim("-u", "NONE", "-c", "luafile " .. helper.write("typist.lua", TYPIST))
    local _, seen = out:gsub("\nseen\n", "")
    assert.equal(5, seen, out)
    assert.truthy(out:find "exit 0", out)
    assert.is_number(tonumber(out:match ".*at most%): ([%d.]+) %([%d.]+%) a key"), out)
  end)

  test("keeps what it has learnt, and knows it in the next editor", function()
    assert.equal("learnt", script([[
      local model = require "jfl_complete.model"
      io.stderr:write(vim.wait(300000, function() return model.steps >= 100 end, 5) and "learnt"
        or require("jfl_complete").status())
    ]], helper.place() .. "/text.lua"))
    assert.equal("second 0", script [[
      local flow, model = require "jfl", require "jfl_complete.model"
      model.guess(model.context "function add(first, ", "", 1, function(list)
        io.stderr:write(list[1][1], " ", model.steps)
      end)
      flow.sync()
    ]])
  end)

  test("learns between the turns of the editor's loop, and waits for no answer", function()
    assert.equal("50 steps, few a turn; answers came later", script([[
      local model = require "jfl_complete.model"
      local last, most = 0, 0
      vim.loop.new_check():start(function()
        last, most = model.steps, math.max(most, model.steps - last)
      end)
      vim.wait(300000, function() return model.steps >= 50 end, 1)
      io.stderr:write(model.steps >= 50 and "50" or model.steps, " steps, ",
        most <= 10 and "few" or most, " a turn; answers came ")
      local guess, answered, at_once = model.guess, false, nil
      function model.guess(context, start, count, found, failed)
        guess(context, start, count, function(list)
          answered = true
          found(list)
        end, failed)
      end
      vim.o.virtualedit = "onemore"
      vim.cmd "normal! G$l"
      vim.api.nvim_exec_autocmds("CursorMovedI", { group = "jfl-complete" })
      at_once = answered
      vim.wait(300000, function() return answered end, 1)
      io.stderr:write(at_once and "at once" or answered and "later" or "never")
    ]], helper.place() .. "/text.lua"))
  end)

  test("puts aside what it cannot read, and says so", function()
    helper.write("nvim/jfl-complete/model.safetensors", "nothing")
    local out = script [[vim.cmd "JflComplete"]]
    assert.truthy(out:find "error: .*model.safetensors", out)
    assert.truthy(io.popen("ls " .. helper.place() .. "/nvim"):read "*a":find "unread")
  end)

  test("forgets without going on to the end of the training, and learns anew", function()
    assert.equal("at once, anew", script([[
      local complete, model = require "jfl_complete", require "jfl_complete.model"
      vim.wait(300000, function() return model.steps > 5 end, 5)
      local before, forget = model.steps, model.forget
      function model.forget()
        io.stderr:write(model.steps - before <= 1 and "at once" or model.steps - before)
        forget()
      end
      complete.forget()
      io.stderr:write(vim.wait(300000, function() return model.steps > 5 end, 5) and ", anew"
        or complete.status())
    ]], helper.place() .. "/text.lua"))
  end)

  test("forgets, refuses options that it does not have, and has a help page", function()
    helper.write("doc/jfl_complete.txt",
      helper.read "examples/nvim-complete/doc/jfl_complete.txt")
    local out = script([[
      local complete, model = require "jfl_complete", require "jfl_complete.model"
      vim.wait(300000, function() return model.steps > 5 end, 5)
      vim.api.nvim_buf_set_lines(0, 0, -1, false, { "other words" })
      vim.cmd "JflCompletePause"
      vim.cmd "JflCompleteForget"
      io.stderr:write(#model.words, " ", model.steps, " ")
      io.stderr:write(select(2, pcall(complete.setup, { paht = "" })))
      vim.cmd "helptags @PLACE@/doc"
      vim.opt.rtp:append "@PLACE@"
      vim.cmd "help :JflCompleteForget"
      io.stderr:write("; ", vim.api.nvim_get_current_line())
    ]], helper.place() .. "/text.lua")
    assert.truthy(out:find "^0 0 .*there is no option 'paht'; .*%*:JflCompleteForget%*", out)
  end)
end)
