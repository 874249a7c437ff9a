-- Commands of the guesser. What they need is loaded when they are first used.
local function command(name, run) vim.api.nvim_create_user_command(name, run, { nargs = "?" }) end

command("GuessTrain", function(o) require("guess").train(tonumber(o.args)) end)
command("GuessStop", function() require("guess").stop() end)
command("GuessStatus", function()
  local guess = require "guess"
  vim.notify(("guess: step %d of %d, loss %s"):format(guess.steps, guess.wanted,
    guess.error or guess.loss and ("%.3f"):format(guess.loss) or "unknown"))
end)

-- The editor ends at once; a step that runs is waited for, and no more are made.
vim.api.nvim_create_autocmd("VimLeavePre", { callback = function()
  if package.loaded.guess then package.loaded.guess.stop() end
end })

function _G.guess_complete(find_start, base) return require("guess").complete(find_start, base) end
vim.o.completefunc = "v:lua.guess_complete"
