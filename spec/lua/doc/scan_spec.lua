--- What the end of a statement that is being typed is within.
require "jfl"
local scan = require "jfl.doc.scan"

local function within(text)
  local place = scan(text)
  if place.quoted then return "quoted" end
  local given = {}
  for name in pairs(place.given or {}) do given[#given + 1] = name end
  table.sort(given)
  return ("call %s inside %s given %s"):format(tostring(place.call), tostring(place.inside),
    table.concat(given, " "))
end

describe("the end of a statement is within", function()
  it("a string or a comment that does not end", function()
    for _, text in ipairs { "f('a", 'f("a\\"', "f([[a]", "f([=[a]]", "-- a", "--[[ a ]",
      "--[==[ ]=]" } do
      assert.equal("quoted", within(text), text)
    end
  end)

  it("the options of a call, of which some are given", function()
    assert.equal("call f inside nil given ", within "f({ ")
    assert.equal("call f inside nil given ", within "f { ")
    assert.equal("call a.b:c inside nil given ", within "x = a.b:c(1, { ")
    assert.equal("call f inside nil given x y", within "f({ x = 1, y = { 2 }, ")
    assert.equal("call f inside nil given x", within "f({ x = [[ ] } ]], ")
    assert.equal("call f inside nil given x", within "f({ x = '}', -- }\n ")
    assert.equal("call f inside nil given x", within "f({ x = --[=[ } ]=] 2; ")
    assert.equal("call nil inside nil given x", within "f({ x = ")
  end)

  it("arguments, or nothing", function()
    assert.equal("call nil inside f given ", within "f(")
    assert.equal("call nil inside g given ", within "f({ x = g(1, ")
    assert.equal("call nil inside nil given ", within "f()")
    assert.equal("call nil inside nil given ", within "x = { ")
  end)
end)
