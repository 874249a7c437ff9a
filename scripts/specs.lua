-- specs.lua [--filter=PATTERN]... [--exclude-tags=TAG]... [--share=2/8] FILE...: runs spec files
-- where busted cannot run: the words of its language that they use, in its order, counted as it
-- counts. Any other word is an error. With a share it runs one spec in eight. The last line is as
-- busted's.
local assertions = require "scripts.specs.assertions"

-- Were it loaded by a file of specs, the next would load it anew, which LuaJIT does not survive.
require "ffi"

local filters, tags, files, part, parts = {}, {}, {}, 0, 1
for _, word in ipairs { ... } do
  local name, value = word:match "^%-%-([%a-]+)=(.+)$"
  if name == "filter" then filters[#filters + 1] = value
  elseif name == "exclude-tags" then tags[#tags + 1] = "#" .. value
  elseif name == "share" and value:find "^%d+/%d+$" then part, parts = value:match "^(.-)/(.*)$"
  elseif word:find "^%-" then
    io.stderr:write(("specs.lua: no option is %q\n"):format(word))
    os.exit(2)
  else files[#files + 1] = word end
end

--- What a spec throws that ends as pending.
local Pending = { __tostring = function(e) return e.message end }

local counts = { success = 0, failure = 0, error = 0, pending = 0 }
local block                 -- the one that is being described; nil while anything else runs
local running               -- the spec that runs; ends: what it wants done at its end
local number = 0

local function tell(what, name, message)
  io.stdout:write(("%s: %s\n  %s\n"):format(what, name, message))
end

--- How a thrown value counts. Only specs fail or are pending: around them it is an error.
local function status_of(thrown, in_spec)
  local kind = in_spec and debug.getmetatable(thrown)
  return kind == assertions.Failure and "failure" or kind == Pending and "pending" or "error"
end

--- Runs a function, in a spec or around it; gives how it went. Errors are counted here.
local function attempt(name, fn, in_spec)
  local status, message = "error", "an error in an error"
  local ok = xpcall(fn, function(thrown)
    status = status_of(thrown, in_spec)
    message = tostring(thrown) .. (status == "error" and debug.traceback("", 2) or "")
  end)
  if ok then return "success" end
  if status == "error" then
    counts.error = counts.error + 1
    tell("Error", name, message)
  elseif status == "failure" then tell("Failure", name, message) end
  return status
end

--- Runs all functions of that kind that the block has; gives whether all went well.
local function all(of, kind)
  local fine = true
  for _, fn in ipairs(of[kind] or {}) do
    if attempt(of.name .. " " .. kind, fn) ~= "success" then fine = false end
  end
  return fine
end

--- Runs what stands before each spec, the outermost first; gives whether all went well, and the
-- last block that was reached.
local function before(of)
  if of.outer then
    local fine, reached = before(of.outer)
    if not fine then return false, reached end
  end
  return all(of, "before_each"), of
end

local function run_spec(spec, of)
  local fine, reached = before(of)
  if fine then
    running = spec
    local status = attempt(spec.name, spec.run, true)
    running = nil
    local last = spec.ends and attempt(spec.name, spec.ends) or "success"
    if status == "success" or status == "pending" and last ~= "success" then status = last end
    if status ~= "error" then counts[status] = counts[status] + 1 end
  end
  while reached do
    all(reached, "after_each")
    reached = reached.outer
  end
end

--- Runs the block's body, which describes it, then what it has.
local function run_block(of)
  block = of
  local described = attempt(of.name, of.body)
  block = nil
  if described ~= "success" then return end
  if all(of, "setup") then
    for _, child in ipairs(of) do
      if child.body then run_block(child)
      elseif child.run then run_spec(child, of)
      else counts.pending = counts.pending + 1 end
    end
  end
  all(of, "teardown")
end

---- ---- the words of spec files ----

--- The block that is described, the only place where such a word may stand.
local function described(word, fn)
  if not block then error(word .. " must stand in a block", 3) end
  if type(fn) ~= "function" then error(word .. " needs a function", 3) end
  return block
end

local function tagged(name)
  for _, tag in ipairs(tags) do
    if name:find(tag) then return true end
  end
  return false
end

local function full_name(of, name) return of.name == "" and name or of.name .. " " .. name end

--- Adds a spec if it is one of those asked for.
local function add_spec(of, name, run)
  local full, found = full_name(of, name), #filters == 0
  for _, filter in ipairs(filters) do found = found or full:find(filter) ~= nil end
  if tagged(name) or not found then return end
  number = number + 1
  if number % parts == part % parts then of[#of + 1] = { name = full, run = run } end
end

local words = { assert = assertions.assert }

function words.describe(name, fn)
  local of = described("describe", fn)
  if not tagged(name) then
    of[#of + 1] = { name = full_name(of, name), outer = of, body = fn }
  end
end

function words.it(name, fn) add_spec(described("it", fn), name, fn) end

--- In a spec it ends that; in a block it stands for one that cannot run.
function words.pending(message)
  if running then error(setmetatable({ message = tostring(message) }, Pending), 0) end
  add_spec(described("pending", words.pending), message)
end

function words.finally(fn)
  if not running then error("finally must stand in a spec", 2) end
  running.ends = fn
end

for _, kind in ipairs { "setup", "teardown", "before_each", "after_each" } do
  words[kind] = function(fn)
    local of = described(kind, fn)
    of[kind] = of[kind] or {}
    table.insert(of[kind], fn)
  end
end

local function copy(t)
  local made = {}
  for key, value in next, t do made[key] = value end
  return made
end

local function restore(t, kept)
  for key in next, copy(t) do rawset(t, key, kept[key]) end
  for key, value in next, kept do rawset(t, key, value) end
end

--- Runs a file of specs; globals and modules are afterwards what they were.
local function run_file(path)
  local globals, modules = copy(_G), copy(package.loaded)
  run_block { name = "", body = function()
    local chunk, message = loadfile(path)
    if not chunk then error(message, 0) end
    setfenv(chunk, setmetatable({}, { __index = function(_, name)
      return words[name] or _G[name]
    end }))
    chunk()
  end }
  restore(_G, globals)
  restore(package.loaded, modules)
end

for _, path in ipairs(files) do run_file(path) end
io.stdout:write(("%d successes / %d failures / %d errors / %d pending\n"):format(counts.success,
  counts.failure, counts.error, counts.pending))
os.exit(#files ~= 0 and counts.failure + counts.error == 0 and 0 or 1, true)
