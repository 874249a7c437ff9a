std = "luajit"
max_line_length = 100
-- Specs compare numbers that may be NaN.
files["spec"] = { std = "+busted", ignore = { "581" } }
files["examples/love-pong"] = { globals = { "love" } }
files["examples/nvim-complete"] = { globals = { "vim" } }
files["examples/nginx-classify"] = { globals = { "ngx" } }
