std = "luajit"
max_line_length = 100
-- Specs hold data in long lines, and compare numbers that may be NaN.
files["spec"] = { std = "+busted", max_line_length = false, ignore = { "581" } }
