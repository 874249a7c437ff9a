--- The tokens of Lua text.
require "jfl"
local tokens = require "jfl.repl.tokens"

--- Kinds and texts of the tokens, a word for each.
local function shown(text)
  local parts = {}
  for i, token in ipairs(tokens.of(text)) do
    assert.equal(token.text, text:sub(token.first, token.last))
    parts[i] = token.kind:sub(1, 1) .. ":" .. token.text
  end
  return table.concat(parts, " ")
end

describe("tokens", function()
  it("take signs into numbers behind an exponent alone", function()
    assert.equal("n:1 s:+ n:2", shown "1+2")
    assert.equal("n:1e+5 s:- n:1.5E-3", shown "1e+5-1.5E-3")
    assert.equal("n:0x1p+3 s:+ n:0xe s:+ n:1", shown "0x1p+3+0xe+1")
    assert.equal("n:.5 s:.. n:3", shown ".5 .. 3")
  end)

  it("leave out comments, and end where a string does not", function()
    assert.equal("n:a n:b", shown "a -- c\nb")
    assert.equal("n:a n:b", shown "a --[==[ c ]] \n ]==] b")
    assert.equal("n:a s:'b\\'c'", shown "a 'b\\'c'")
    assert.equal("n:a s:[=[ x ]] ]=] n:b", shown "a [=[ x ]] ]=] b")
    assert.equal("n:a", shown "a 'b\n c")
    assert.equal("n:a", shown "a [[ b")
  end)

  it("are symbols of up to three signs", function()
    assert.equal("n:a s:== n:b s:~= n:c s:<= n:d s:>= n:e", shown "a==b~=c<=d>=e")
    assert.equal("s:( s:... s:) s:. s:, s::: n:x s:::", shown "(...) . ,::x::")
    assert.equal("k:not n:nots", shown "not nots")
  end)

  it("tell where expressions, functions and blocks end", function()
    local function after(text) return tokens.after_expressions(tokens.of(text), 1) end
    assert.equal(2, after "a")
    assert.equal(4, after "a + b c")
    assert.equal(5, after "f ( x ) y")
    assert.equal(7, after "a , - b . c")
    assert.equal(9, after "function ( ) return 1 end + 2")
    assert.equal(4, after "{ 1 }")
    -- Names and what is in () can be called, indexed and given a string or a table.
    for operand, callable in pairs { a = true, ["(a)"] = true, ["(a + 1)"] = true,
      ["{ 1 }"] = false, ["1"] = false, ["'s'"] = false, ["nil"] = false,
      ["function() end"] = false } do
      local n = #tokens.of(operand)
      for _, suffix in ipairs { "(x)", "[x]", ".x", ":x(1)", "'s'", "{}", "(x)[1].y" } do
        local all = n + (callable and #tokens.of(suffix) or 0)
        assert.equal(all + 1, after(operand .. suffix .. " y"), operand .. suffix)
      end
    end
    local list = tokens.of "function f() if a then b() end end x"
    assert.equal("x", list[tokens.after_function(list, 1)].text)
  end)
end)
