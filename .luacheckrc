std = "luajit"
max_line_length = 100
-- Specs compare numbers that may be NaN.
files["spec"] = { std = "+busted", ignore = { "581" } }
files["examples/love-pong"] = { globals = { "love" } }
files["examples/love-talk"] = { globals = { "love" } }
files["examples/nvim-complete"] = { globals = { "vim" } }
files["examples/nginx-classify"] = { globals = { "ngx" } }
-- In what a script gives, jfl.base.metatable looks.
files["lua/jfl"] = { not_globals = { "getmetatable" } }
for _, name in ipairs { "base/dtypes", "base/metatable", "repl/session", "tools/bundled" } do
  files["lua/jfl/" .. name .. ".lua"] = { globals = { "getmetatable" } }
end
