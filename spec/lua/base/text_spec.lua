require "jfl"
local text = require "jfl.base.text"

describe("text", function()
  it("knows UTF-8 from other bytes", function()
    for _, s in ipairs { "", "plain\n", "é", "语", "\240\159\154\128", "\239\191\191" } do
      assert.is_true(text.is_utf8(s), s)
    end
    -- Cut, alone, too long for what they say, surrogates, beyond the last code point.
    for _, s in ipairs { "\195", "\169", "a\226\130", "\192\128", "\224\128\128", "\237\160\128",
      "\244\144\128\128", "\255", "\195a" } do
      assert.is_false(text.is_utf8(s), ("%q"):format(s))
    end
  end)

  it("counts the columns that letters take", function()
    assert.equal(5, text.width("plain"))
    assert.equal(4, text.width("训练"))
    assert.equal(1, text.width("e\204\129"))
    assert.equal(2, text.width("\255\255"))
  end)

  it("cuts between letters", function()
    assert.same({ "训", 2 }, { text.cut("训练", 3) })
    assert.same({ "训练", 4 }, { text.cut("训练", 4) })
    assert.same({ "", 0 }, { text.cut("训练", 1) })
    assert.same({ "e\204\129", 1 }, { text.cut("e\204\129x", 1) })
  end)

  it("keeps a line on its line", function()
    assert.equal("a b  [2J", text.line("a\nb\r\27[2J"))
  end)
end)
