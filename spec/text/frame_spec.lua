--- How texts are cut and framed: at every length, with what is added around one text and two.
local flow = require "jfl"
local helper = require "spec.lua.helper"

-- Letters are tokens; [ and ] stand around a text, and ] after a second one.
local JSON = [[{"pre_tokenizer":{"type":"Split","pattern":{"Regex":"."},"behavior":"Isolated",
  "invert":false},"post_processor":{"type":"BertProcessing","sep":["]",1],"cls":["[",0]},
  "model":{"type":"WordLevel","vocab":{"[":0,"]":1,"a":2,"b":3,"c":4,"d":5,"e":6,"f":7,"v":8,
  "w":9,"x":10,"y":11,"z":12},"unk_token":"a"}%s}]]
local TRUNCATION = ',"truncation":{"max_length":100,"stride":0,"strategy":"%s","direction":"Right"}'

-- What is left of two texts of these lengths where so many tokens may stay: the shorter one loses
-- nothing while the other is longer; of two as long, the first is cut.
local function longest_first(n, m, most)
  while n + m > most do
    if n >= m then n = n - 1 else m = m - 1 end
  end
  return n, m
end

describe("a text", function()
  local folder, path
  setup(function()
    folder = helper.directory()
    path = folder .. "/tokenizer.json"
  end)
  teardown(function() helper.remove(folder) end)

  local function tokenizer(strategy)
    helper.write(path, JSON:format(strategy and TRUNCATION:format(strategy) or ""))
    return flow.text.tokenizer(path)
  end

  -- The tokens as one text.
  local function tokens(t, text, pair, o)
    o = o or {}
    o.details = true
    return table.concat(t:encode(text, pair, o).tokens)
  end

  local function cut(text, n, side)
    return side == "left" and text:sub(#text - n + 1) or text:sub(1, n)
  end

  local TEXTS = { "", "a", "abc", "abcdef" }

  it("alone is cut to any length, on either side", function()
    local t = tokenizer()
    for _, text in ipairs(TEXTS) do
      for most = 1, 9 do
        for _, side in ipairs { "left", "right" } do
          local o = { most = most, cut = side }
          if most < 2 then
            helper.fails(function() tokens(t, text, nil, o) end,
              "truncation to 1 tokens leaves no room for the 2 that are added around a text")
          else
            assert.equal("[" .. cut(text, math.min(#text, most - 2), side) .. "]",
              tokens(t, text, nil, o))
          end
          o.special = false
          assert.equal(cut(text, math.min(#text, most), side), tokens(t, text, nil, o))
        end
      end
    end
  end)

  it("and another are cut so that the shorter one loses least", function()
    local t = tokenizer()
    for _, text in ipairs(TEXTS) do
      for _, other in ipairs { "", "z", "xyz", "vwxyz" } do
        for most = 3, 15 do
          local n, m = longest_first(#text, #other, most - 3)
          local got = tokens(t, text, other, { most = most, cut = "right" })
          local first, second = got:match "^%[(%a*)%](%a*)%]$"
          assert(first, got)
          assert.equal(n + m, #first + #second)
          assert.same({ text:sub(1, #first), other:sub(1, #second) }, { first, second })
          -- Where both are cut, as many are left of both, or one more of one.
          if #first < #text and #second < #other then
            assert(math.abs(#first - #second) <= 1, got)
          else
            assert.same({ n, m }, { #first, #second }, got)
          end
        end
        helper.fails(function() tokens(t, text, other, { most = 2 }) end,
          "truncation to 2 tokens leaves no room for the 3 that are added around a text")
      end
    end
  end)

  it("is cut alone where the file says so, or not at all", function()
    for i, strategy in ipairs { "OnlyFirst", "OnlySecond" } do
      local t = tokenizer(strategy)
      for most = 3, 12 do
        local left = { 4, 3 }
        left[i] = math.min(left[i], most - 3 - left[3 - i])
        local function run() return tokens(t, "abcd", "xyz", { most = most }) end
        if most > 3 and left[i] <= 0 then
          helper.fails(run, ("is to cut the %s text alone"):format(i == 1 and "first" or "second"))
        elseif most > 3 then
          assert.equal("[" .. ("abcd"):sub(1, left[1]) .. "]" .. ("xyz"):sub(1, left[2]) .. "]",
            run())
        end
      end
    end
    helper.fails(function() tokens(tokenizer "OnlySecond", "abcd", nil, { most = 3 }) end,
      "truncation is to cut the second text alone, and there is none")
  end)

  it("is filled up to any length, on either side", function()
    local t = tokenizer()
    for length = 1, 9 do
      for _, side in ipairs { "left", "right" } do
        local b = t:batch({ "abc" }, nil, { length = length, pad = side })
        local ids, mask = helper.list(b.ids), helper.list(b.mask)
        local from = side == "left" and #ids - 5 or 0
        assert.equal(math.max(length, 5), #ids)
        for k = 1, #ids do
          local own = ({ 0, 2, 3, 4, 1 })[k - from]
          assert.same({ own or 0, own and 1 or 0 }, { ids[k], mask[k] })
        end
      end
    end
  end)
end)
