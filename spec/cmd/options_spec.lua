-- The rows of src/cmd/options.h: reading, --help, the manual page and completion know all of them.
local helper = require "spec.cmd.helper"

local known = debug.getregistry()["jfl.options"]()

-- Calls f with each of the names of each option, such as "-h" and "--help".
local function each(f)
  local n = 0
  for _, option in ipairs(known.options) do
    for name in option.name:gmatch "%-[%w-]*%w" do
      n = n + 1
      f(name, option)
    end
  end
  assert.truthy(n > 20)
end

local function written(...)
  local out, err, status = helper.run("-E", ...)
  assert.same({ "", 0 }, { err, status })
  return out
end

-- Whether a name stands in a text as a word of its own.
local function has(text, name)
  return (" " .. text .. " "):find("[^%w-]" .. name:gsub("%-", "%%-") .. "[^%w]") ~= nil
end

local function line(words) return helper.shell(helper.line() .. " " .. words) end

describe("each option of the command", function()
  after_each(helper.clean)

  it("is told in the help, the manual page and all completions", function()
    local help = written "--help"
    local page = written("scripts/package/man.lua"):gsub("\\%-", "-")
    for _, text in ipairs { help, page, written("scripts/package/completion.lua", "bash"),
                            written("scripts/package/completion.lua", "zsh") } do
      each(function(name) assert(has(text, name), name .. " is missing in\n" .. text) end)
    end
    local fish = written("scripts/package/completion.lua", "fish")
    each(function(name)
      local letters = name:gsub("^%-%-", "-l "):gsub("^%-(%w)$", "-s %1")
      assert(has(fish, letters), fish)
    end)
    for _, variable in ipairs(known.variables) do
      assert(has(help, variable.usage) and has(page, variable.usage), variable.usage)
    end
  end)

  it("says what it does in words of its own", function()
    local texts = {}
    for _, option in ipairs(known.options) do
      assert(option.text and not texts[option.text], option.name)
      texts[option.text] = true
    end
  end)

  it("asks for its value", function()
    each(function(name, option)
      if not option.value or option.is_optional then return end
      local before = option.with == "--ranks" and "--ranks 2" or option.with or ""
      local _, err, status = line(before .. " " .. name)
      assert.equal(1, status, err)
      assert.truthy(err:match("^[^\n]*"):find(name, 1, true), err)
      assert.falsy(err:find("unknown option", 1, true), err)
      assert.matches("^jfl: [^\n]+\nusage: jfl [^\n]+\njfl %-%-help tells all options\n$", err)
    end)
  end)

  it("takes it behind = too", function()
    for words, says in pairs {
      ["--ranks=2 --restart=x"] = "a number must follow --restart, got 'x'",
      ["--sandbox --read=/tmp --disk=64M --seconds=1 --memory=3"] =
        "--memory must be at least 16M, got 3",
      ["--bundle a.lua --runtime=x"] = "where to write it must be said by -o",
      ["--runtime=x"] = "unknown option --runtime=x",
    } do
      local _, err, status = line(words)
      assert.equal(1, status)
      assert.truthy(err:match("^[^\n]*"):find(says, 1, true), err)
    end
  end)

  it("is read as one once, whatever its value looks like", function()
    local out, err = line [[--ranks 2 -e "--ranks=2, which is a comment" -e "print 'here'"]]
    assert.equal("here\n", out, err)
  end)
end)
