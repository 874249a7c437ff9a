std = "luajit"
max_line_length = 100
-- Specs compare numbers that may be NaN.
files["spec"] = { std = "+busted", ignore = { "581" } }
files["examples/love"] = { globals = { "love" } }
files["examples/neovim"] = { globals = { "vim" } }
