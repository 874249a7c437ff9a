-- specs.lua [--filter=PATTERN]... [--share=2/8] FILE...: runs specs where busted is not installed,
-- by the little of it that they need; with a share, one in eight of them. The last line is as
-- busted's.
local filters, files, part, parts = {}, {}, 0, 1
for _, word in ipairs { ... } do
  local filter, first, second = word:match "^%-%-filter=(.*)$", word:match "^%-%-share=(%d+)/(%d+)$"
  if filter then filters[#filters + 1] = filter
  elseif first then part, parts = first - 1, tonumber(second)
  else files[#files + 1] = word end
end

local try = assert

--- Whether two values are the same, tables by what is in them.
local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

local function check(ok, message, ...)
  if not ok then error(message:format(...), 3) end
end

local checks = setmetatable({
  equal = function(want, got) check(want == got, "expected %s, got %s", tostring(want),
    tostring(got)) end,
  same = function(want, got) check(same(want, got), "two tables differ") end,
  truthy = function(v, message) check(v, "%s", message or "expected something true") end,
  falsy = function(v, message) check(not v, "%s", message or "expected nothing true") end,
  matches = function(pattern, text) check(tostring(text):find(pattern), "expected %s, got %s",
    pattern, tostring(text)) end,
  is_true = function(v) check(v == true, "expected true, got %s", tostring(v)) end,
  is_false = function(v) check(v == false, "expected false, got %s", tostring(v)) end,
  is_nil = function(v) check(v == nil, "expected nil, got %s", tostring(v)) end,
  near = function(want, got, most) check(math.abs(want - got) <= most, "expected %g, got %g", want,
    got) end,
}, { __call = function(_, ...) return try(...) end })

--- ---- what is described: a list of specs in each block, with what runs around them ----

local root = { name = "" }
local block = root

local function describe(name, fn)
  local outer = block
  block = { name = (outer.name .. " " .. name):gsub("^ ", ""), outer = outer }
  outer[#outer + 1] = block
  fn()
  block = outer
end

local function it(name, fn) block[#block + 1] = { name = name, fn = fn } end

local function around(kind)
  return function(fn)
    block[kind] = block[kind] or {}
    table.insert(block[kind], fn)
  end
end

local passed, failed, number = 0, 0, 0
local last                             -- what the spec that runs wants done at its end

local function all(list)
  for _, fn in ipairs(list or {}) do fn() end
end

local function wanted(name)
  number = number + 1
  if number % parts ~= part then return false end
  for _, filter in ipairs(filters) do
    if name:find(filter) then return true end
  end
  return #filters == 0
end

local function try_one(spec, of)
  local name = of.name .. " " .. spec.name
  if not wanted(name) then return end
  if not of.begun then all(of.setup) end
  of.begun = true
  all(of.before_each)
  last = {}
  local ok, message = pcall(spec.fn)
  all(last)
  all(of.after_each)
  passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
  if not ok then print(("Failure: %s\n  %s"):format(name, tostring(message))) end
end

local function run(of)
  for _, part_of in ipairs(of) do
    if part_of.fn then try_one(part_of, of) else run(part_of) end
  end
  if of.begun then all(of.teardown) end
end

local globals = { describe = describe, it = it, assert = checks, setup = around "setup",
  teardown = around "teardown", before_each = around "before_each",
  after_each = around "after_each", finally = function(fn) last[#last + 1] = fn end }
for name, value in pairs(globals) do rawset(_G, name, value) end

for _, file in ipairs(files) do try(loadfile(file))() end
run(root)
print(("%d successes / %d failures / 0 errors / 0 pending"):format(passed, failed))
os.exit(failed == 0 and 0 or 1)
