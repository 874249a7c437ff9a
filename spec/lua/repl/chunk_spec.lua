require "jfl"
local chunk = require "jfl.repl.chunk"
local locals = require "jfl.repl.locals"

local function shown(...) return "shown", ... end

--- What running a text gives; values that would be shown come after "shown".
local function run(text)
  local f, more, message = chunk.load(text, shown)
  assert(f, tostring(more) .. " " .. tostring(message))
  return f()
end

describe("an input", function()
  before_each(locals.clear)
  after_each(function() rawset(_G, "x", nil) end)

  it("shows its value, or that of its last expression", function()
    assert.same({ "shown", 1, 2 }, { run("1, 2") })
    assert.same({ "shown", 3 }, { run("= 3") })
    assert.same({ "shown", 4 }, { run("x = 2; x * 2") })
    assert.same({ "shown", 6 }, { run("local a = 1\nlocal b = 2 -- note\n\na + b +\n3 -- more") })
    assert.same({ "shown", "t" }, { run("x = { 't' };\n(x)[1];") })
    assert.same({ "shown", -2 }, { run("local b = 2;-b") })
    assert.same({ "shown", 8 }, { run("local function f(a) return 2 * a end\nf(4)") })
  end)

  it("has an expression at the beginning of a line alone, or behind a semicolon", function()
    for _, text in ipairs { "x = 1 y", "x = 1 y\n", "x = 1 yy\n", "local a = 1 b\n" } do
      assert.is_nil((chunk.load(text, shown)), text)
    end
    assert.same({ "shown", 1 }, { run("x = 1;x\n") })
    assert.same({ "shown", 1 }, { run("x = 1\nx\n") })
  end)

  it("shows nothing for statements", function()
    assert.same({}, { run("") })
    assert.same({}, { run("-- note") })
    assert.same({}, { run(";") })
    assert.same({ "shown" }, { run("(function() end)()") })
    assert.same({}, { run("x = 1\n- 2") })
    assert.equal(-1, rawget(_G, "x"))
    assert.same({ 7 }, { run("return 7") })
    assert.same({}, { run("for i = 1, 2 do x = i end") })
  end)

  it("asks for more lines where it may go on", function()
    for _, text in ipairs { "for i = 1, 2 do", "x =", "{ 1,", "1 +", "[[", "f(", "--[[", "'a\\",
      "local f = function()", "x = 1; if x then\n x" } do
      local f, more = chunk.load(text, shown)
      assert.same({ nil, true }, { f, more }, text)
    end
    for _, text in ipairs { "1 1", "end", "x = = 1", "'a", "x y" } do
      local f, more, message = chunk.load(text, shown)
      assert.same({ nil, false }, { f, more }, text)
      assert.truthy(message:find("^stdin:1: "), message)
    end
  end)

  it("has its own lines in messages", function()
    local f = chunk.load("local t = 1\nlocal u = 2\nlocal v = t.x.y", shown)
    assert.truthy(select(2, pcall(f)):find("^stdin:3: "))
    f = chunk.load("error('no')", shown)
    assert.equal("stdin:1: no", select(2, pcall(f)))
    f = chunk.load("nil + 1 -- note", shown)
    assert.truthy(select(2, pcall(f)):find("^stdin:1: "))
  end)

  it("says what is wrong with an expression where no statement begins so", function()
    for text, says in pairs {
      ["2 ^ ^ 3"] = "stdin:1: unexpected symbol near '^'",
      ["5 5"] = "stdin:1: unexpected symbol near '5'",
      ["#x +\n)"] = "stdin:2: unexpected symbol near ')'",
      ["{ 1, 2 } = 3"] = "stdin:1: unexpected symbol near '='",
      ["(1 2)"] = "stdin:1: ')' expected near '2'",
      ["x = = 3"] = "stdin:1: unexpected symbol near '='",
      ["return return"] = "stdin:1: unexpected symbol near 'return'",
    } do
      local f, more, message = chunk.load(text, shown)
      assert.is_nil(f)
      assert.is_falsy(more)
      assert.equal(says, message)
    end
  end)

  it("may be a copy of a session, or several inputs", function()
    assert.equal("a = 1\nfor i = 1, 2 do\n  a = i\nend\na",
      chunk.without_prompts("  > a = 1\n  > for i = 1, 2 do\n>>   a = i\n  >> end\n  > a\n  2\n"))
    assert.equal("a = 1", chunk.without_prompts("    $ jfl\n    > a = 1\n    2\n"))
    assert.equal("a > b", chunk.without_prompts("a > b"))
    assert.same({ "a = 1", "a", "if a then\n  b = 2\nend", "= b" },
      chunk.divide("a = 1\na\nif a then\n  b = 2\nend\n\n= b"))
    assert.is_nil(chunk.divide("a = 1\nb b\nc = 2"))
    assert.is_nil(chunk.divide("a\nif b then"))
  end)

  it("knows how deep it is", function()
    assert.equal(0, chunk.depth("x = 1"))
    assert.equal(2, chunk.depth("for i = 1, 2 do f {"))
    assert.equal(1, chunk.depth("repeat if x then end while y do z() end"))
    assert.equal(0, chunk.depth("end end"))
  end)
end)
