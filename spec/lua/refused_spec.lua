-- Each function of the API as its example calls it, with one argument or option in turn that is
-- nothing it can be: the call fails. A check that is forgotten is one that users run into later.
local flow = require "jfl"
local args = require "jfl.base.args"
local core = require "jfl.core"
local examples = require "jfl.doc.examples"
local helper = require "spec.lua.helper"
local index = require "jfl.doc.index"

-- What is looked at later, or with other options alone, or is ignored.
local LATER = { ["data.image_folder"] = "area", ["data.webdataset"] = "mel rate",
  ["quantization.min_max_observer"] = "name", ["quantization.quantize"] = "batches job",
  progress = "control state" }

local function is_later(path, name)
  if path:find "^optimizer%." and name == "variables" then return true end      -- by minimize
  return (" " .. (LATER[path] or "") .. " "):find(" " .. name .. " ", 1, true) ~= nil
end

local WRONG = coroutine.create(print)      -- what no function takes
local STOP = "the call was tried"

-- The names of a function's parameters in order, those of inputs first.
local function parameters()
  local by_path = {}
  index.paths()                            -- which loads all that is defined
  for path, f in pairs(args.defined) do
    local list = {}
    for i, param in ipairs(f.params) do list[i] = param[1] end
    by_path[path] = list
  end
  for _, info in pairs(core.ops()) do
    for path in (info.path or ""):gmatch "%S+" do
      local list = { unpack(info.inputs) }
      for _, param in ipairs(info.params) do list[#list + 1] = param.name end
      by_path[path] = by_path[path] or list
    end
  end
  return by_path
end

-- The arguments of a call with a wrong i-th parameter.
local function with_wrong(names, i, n, ...)
  local list, last, is_name = { ... }, select(n > 0 and n or 1, ...), {}
  for _, name in ipairs(names) do is_name[name] = true end
  local has_options = type(last) == "table" and getmetatable(last) == nil
  for key in pairs(has_options and last or {}) do has_options = has_options and is_name[key] end
  local options, given = {}, has_options and n - 1 or n
  if i <= given then
    list[i] = WRONG
    return n, list
  end
  for key, value in pairs(has_options and last or {}) do options[key] = value end
  options[names[i]] = WRONG
  list[given + 1] = options
  return given + 1, list
end

-- A namespace of the API in which the function at `path` is called with a wrong i-th parameter.
local function namespace(real, at, path, names, i, note)
  return setmetatable({}, { __index = function(_, key)
    local value, here = real[key], at == "" and key or at .. "." .. tostring(key)
    if here == path and type(value) == "function" then
      return function(...)
        local n, list = with_wrong(names, i, select("#", ...), ...)
        note(pcall(value, unpack(list, 1, n)))
        error(STOP, 0)
      end
    end
    if type(value) == "table" and path:sub(1, #here + 1) == here .. "." then
      return namespace(value, here, path, names, i, note)
    end
    return value
  end })
end

-- Runs an example until it calls the function; gives whether that failed, nil where it is not
-- called.
local function is_refused(code, path, names, i)
  local refused
  local chunk = assert(loadstring(code, "=example"))
  local fake = namespace(flow, "", path, names, i, function(ok) refused = not ok end)
  setfenv(chunk, setmetatable({ flow = fake, print = function() end }, { __index = _G }))
  flow.clear_default_session()
  pcall(chunk)
  pcall(flow.sync)
  return refused
end

describe("a call with something wrong #cpu", function()
  local directory, leave

  setup(function()
    directory = helper.directory()
    leave = helper.enter(directory)
  end)
  teardown(function()
    flow.clear_default_session()
    leave()
    helper.remove(directory)
  end)

  it("fails, whichever parameter that is", function()
    local by_path, n, silent = parameters(), 0, {}
    helper.stderr_of(function()
      for path, code in pairs(examples.by_path) do
        for i, name in ipairs(not code:find "load_mnist" and by_path[path] or {}) do
          local refused = is_refused(code, path, by_path[path], i)
          if refused ~= nil then n = n + 1 end
          if refused == is_later(path, name) then silent[#silent + 1] = path .. ": " .. name end
        end
      end
    end)
    table.sort(silent)
    assert.same({}, silent)
    assert.truthy(n > 1500, n)
  end)
end)
