-- Commands of jfl-complete, which load it when they are first used. What begins it is
-- require("jfl_complete").setup().
if vim.g.loaded_jfl_complete then return end
vim.g.loaded_jfl_complete = true

local function complete() return require "jfl_complete" end

local function command(name, run) vim.api.nvim_create_user_command(name, run, {}) end

command("JflComplete", function() vim.notify(complete().status()) end)
command("JflCompletePause", function() complete().pause(true) end)
command("JflCompleteGo", function() complete().pause(false) end)
command("JflCompleteSave", function() complete().save() end)
command("JflCompleteForget", function() complete().forget() end)

-- 'completefunc' finds this by name; it must not be loaded while the editor starts.
function _G.jfl_complete(find_start, base) return complete().complete(find_start, base) end

vim.keymap.set("i", "<Plug>(jfl-accept)", function() return complete().rest() end, { expr = true })
