-- Files made to take more memory or time than they should: each is read in a process that may have
-- little of either.
local core = require "jfl.core"
local flow = require "jfl"
local helper = require "spec.lua.helper"

-- MB of memory, and seconds of a processor, that reading takes at most.
local ROOM, SECONDS = 160, 60

local function big(n)
  return string.char(math.floor(n / 2 ^ 24) % 256, math.floor(n / 2 ^ 16) % 256,
    math.floor(n / 256) % 256, n % 256)
end

-- A chunk of a PNG.
local function chunk(kind, data)
  return big(#data) .. kind .. data .. big(core.crc32(kind .. data))
end

local function deflated(data) return core.bytes(core.deflate(data, "zlib")) end

-- A PNG of a grey pixel, with chunks before it.
local function png(before)
  return "\137PNG\r\n\26\n" .. chunk("IHDR", big(1) .. big(1) .. "\8\0\0\0\0") .. before
    .. chunk("IDAT", deflated("\0\7")) .. chunk("IEND", "")
end

describe("a file made to do harm", function()
  local within = helper.folder(setup, teardown)

  local function write(name, text) return helper.write(within(name), text) end

  -- What a process prints that runs the text, and how many MB more than jfl alone it had at most.
  local function run(text)
    local peak = [[
      local function peak()
        local file = io.open("/proc/self/status")
        return tonumber((file and file:read("*a") or ""):match("VmHWM:%s*(%d+)") or 0) / 1024
      end
      local flow = require "jfl"
      local before = peak()
    ]]
    local out = helper.script(peak .. text .. " print(('more %.0f'):format(peak() - before))")
    return out, tonumber(out:match("more (%d+)")), tonumber(out:match("took ([%d.]+)"))
  end

  local function read_cheaply(call, says)
    local out, more, took = run(([[
      local start = os.clock()
      print(pcall(function() return %s end))
      print("took " .. os.clock() - start)
    ]]):format(call))
    assert.truthy(out:find(says, 1, true), out)
    assert.is_true(took < SECONDS, out)
    if not helper.sanitized() then assert.is_true(more < ROOM, out) end
  end

  it("is a PNG whose texts unpack to a thousand times their bytes", function()
    local text = deflated(("a"):rep(7900000))
    local texts = chunk("zTXt", "k\0\0" .. text) .. chunk("iTXt", "k\0\1\0\0\0" .. text)
    local path = write("texts.png", png(texts:rep(300)))
    read_cheaply(("flow.data.load_image('%s'):item()"):format(path), "true\t7")
  end)

  it("is a PNG with a chunk that must be known", function()
    local path = write("unknown.png", png(chunk("ABCD", "x")))
    helper.fails(function() flow.data.load_image(path) end, path .. ": the PNG is damaged: ")
  end)

  it("is a PNG with a chunk that is longer than the file", function()
    local head = png("\127\255\255\255zTXt")
    for _, text in ipairs { head, (head:match "^.-zTXt") } do
      local path = write("cut.png", text)
      read_cheaply(("flow.data.load_image('%s')"):format(path),
        path .. ": the PNG is damaged: it ends before its pixels")
    end
  end)

  it("is a table of many columns and one line", function()
    local names = {}
    for i = 1, 65536 do names[i] = ("a_name_like_all_the_others_%d"):format(i) end
    local path = write("wide.csv", table.concat(names, ",") .. "\n" .. ("1,"):rep(65535) .. "1\n")
    read_cheaply(("#flow.data.csv('%s').a_name_like_all_the_others_9"):format(path), "true\t1")
    names[65536] = names[1]
    path = write("twice.csv", table.concat(names, ",") .. "\n")
    read_cheaply(("flow.data.csv('%s')"):format(path),
      path .. ": line 1: columns must have names that differ, got 'a_name_like_all_the_others_1'")
  end)

  it("is a table with a zero byte in a column's name", function()
    local path = write("zero.csv", "a,b\0c\n1,2\n")
    helper.fails(function() flow.data.csv(path) end,
      path .. ": line 1: the name of column 2 must hold no zero byte")
  end)

  it("is longer than a text may be, and has nothing in it", function()
    for name, start in pairs { ["a.npz"] = "PK\3\4", ["a.png"] = "\137PNG\r\n\26\n" } do
      local path = write(name, start)
      local file = io.open(path, "r+b")
      file:seek("set", 3 * 2 ^ 30)
      file:write("x")
      file:close()
      local call = name == "a.npz" and "ndarray.load" or "data.load_image"
      read_cheaply(("flow.%s('%s')"):format(call, path), path
        .. ": it must have at most 1073741824 bytes, got 3221225473")
      os.remove(path)
    end
  end)
end)
