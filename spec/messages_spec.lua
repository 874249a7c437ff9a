--- What errors say has one grammar: "x must be y, got z", in lower case, without a full stop; the
--- core, which serves C hosts too, names nothing of the Lua module.

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- The text that the string literals from `at` on are, which stand side by side in C and are joined
-- by .. in Lua; nil where there is none before the call's end. Literals in other arguments that
-- come first are names of arguments and are skipped.
local function literal(text, at)
  local depth, parts = 1, {}
  while depth > 0 and at <= #text do
    local char = text:sub(at, at)
    if char == '"' then
      local stop = at + 1
      while text:sub(stop, stop) ~= '"' do stop = stop + (text:sub(stop, stop) == "\\" and 2
        or 1) end
      parts[#parts + 1] = text:sub(at + 1, stop - 1)
      at = stop
    elseif char == "," and parts[1] and (parts[1]:find(" ") or #parts > 1) then
      break
    elseif char == "," then
      parts = {}
    elseif char == "(" then depth = depth + 1
    elseif char == ")" then depth = depth - 1 end
    at = at + 1
  end
  return parts[1] and table.concat(parts)
end

-- Calls f(message, path) for the message of every call in the files.
local function each_message(files, calls, f)
  local count = 0
  for _, path in ipairs(files) do
    local text = read(path)
    for _, call in ipairs(calls) do
      for at in text:gmatch(call .. "%(()") do
        local message = literal(text, at)
        if message then
          count = count + 1
          f(message, path)
        end
      end
    end
  end
  return count
end

local C = { "jf_fail", "jf_fail_argument", "jf_blame", "jf_raise" }
local C_FILES = lines_of("find src kernels -name '*.c'")
local LUA_FILES = lines_of("find lua -name '*.lua'")

local function each(f)
  local count = each_message(C_FILES, C, f)
  return count + each_message(LUA_FILES, { "core%.fail" }, f)
end

-- Words that say the same otherwise.
local OTHERWISE = { "expected", "should", "wants?", "found" }

describe("messages", function()
  it("are found by this spec", function()
    local seen = {}
    assert.is_true(each(function(message) seen[message] = true end) > 500)
    assert.truthy(seen["%s must be of shape %s, got %s%s"])
    assert.truthy(seen["takes %s%d input%s, got %d"])
    assert.truthy(seen["%s: %s must be a whole number of at least %d, got %s"])
  end)

  it("say what must be, and what was got", function()
    each(function(message, path)
      for _, word in ipairs(OTHERWISE) do
        local plain = (" " .. message .. " "):gsub("%%.", " ")
        assert.is_nil(plain:find("%f[%a]" .. word .. "%f[%A]"), path .. ": " .. message)
      end
    end)
  end)

  it("begin in lower case and end without a full stop", function()
    each(function(message, path)
      local first = message:gsub("^%%s: ", ""):match("^%u%l+ ")
      assert.is_nil(first, path .. ": " .. message)
      assert.is_nil(message:find("[^.]%.$"), path .. ": " .. message)
    end)
  end)

  it("of the core name nothing of the Lua module", function()
    local core = lines_of("find src kernels -name '*.c' -not -path 'src/bind/*'")
    each_message(core, C, function(message, path)
      assert.is_nil(message:find("flow%."), path .. ": " .. message)
    end)
  end)
end)
