--- What a tokenizer's file may not say is an error that names the place: members of another kind,
-- members that are not known, numbers beyond a bound, and expressions that are not there.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local WORDS = '{"type":"WordLevel","vocab":{"a":0,"b":1},"unk_token":"a"}'
local TEMPLATE = '"single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A"}},'
  .. '{"Sequence":{"id":"B","type_id":1}}]'

-- By part: a kind of step, and its members.
local STEPS = {
  normalizer = {
    { "BertNormalizer", '"clean_text":true,"handle_chinese_chars":true,"strip_accents":false,'
      .. '"lowercase":true' }, { "NFC", "" },
    { "Replace", '"pattern":{"String":"x"},"content":"y"' }, { "Prepend", '"prepend":"x"' },
    { "Replace", '"content":"y","pattern":{"Regex":"x+"}' },
    { "Strip", '"strip_left":true,"strip_right":false' },
    { "Precompiled", '"precompiled_charsmap":"BAAAAAAAAABhAA=="' } },
  pre_tokenizer = {
    { "ByteLevel", '"add_prefix_space":true,"trim_offsets":true,"use_regex":true' },
    { "Metaspace", '"replacement":"x","prepend_scheme":"never","split":true' },
    { "Split", '"pattern":{"String":"x"},"behavior":"Removed","invert":false' },
    { "Digits", '"individual_digits":true' }, { "Punctuation", '"behavior":"Isolated"' },
    { "CharDelimiterSplit", '"delimiter":"x"' }, { "FixedLength", '"length":3' } },
  post_processor = {
    { "ByteLevel", '"add_prefix_space":true,"trim_offsets":true,"use_regex":true' },
    { "BertProcessing", '"sep":["a",0],"cls":["b",1]' },
    { "RobertaProcessing", '"sep":["a",0],"cls":["b",1],"trim_offsets":true,'
      .. '"add_prefix_space":true' },
    { "TemplateProcessing", TEMPLATE .. ',"special_tokens":{"a":{"id":"a","ids":[0]}}' } },
  decoder = {
    { "WordPiece", '"prefix":"##","cleanup":true' },
    { "Strip", '"content":"x","start":1,"stop":0' },
    { "BPEDecoder", '"suffix":"x"' }, { "CTC", '"pad_token":"x","word_delimiter_token":"y",'
      .. '"cleanup":true' } },
}

describe("a tokenizer's file", function()
  local folder, path
  setup(function()
    folder = helper.directory()
    path = folder .. "/tokenizer.json"
  end)
  teardown(function() helper.remove(folder) end)

  local function read(json)
    helper.write(path, json)
    return flow.text.tokenizer(path)
  end

  local function fails(json, message) helper.fails(function() read(json) end, message) end

  local function step(part, kind, members)
    return ('{"%s":{"type":"%s"%s%s},"model":%s}'):format(part, kind, members ~= "" and "," or "",
      members, WORDS)
  end

  for part, list in pairs(STEPS) do
    it("reads and refuses members of a " .. part, function()
      for _, row in ipairs(list) do
        local kind, members = unpack(row)
        local where = part .. ": " .. kind
        read(step(part, kind, members))
        fails(step(part, kind, members .. (members ~= "" and "," or "") .. '"odd":1'),
          where .. ": 'odd' is not there; members are type")
        for _, name in ipairs { " type", "type ", " ", "" } do
          local more = (members ~= "" and "," or "") .. ('"%s":1'):format(name)
          fails(step(part, kind, members .. more),
            where .. (": '%s' is not there; members are type"):format(name))
        end
        if not members:find("[%[{]") then
          for name, value in members:gmatch('"([%l_]+)":([^,]+)') do
            local other = value:find("^[tf\"]") and "7" or '"seven"'
            local wrong = members:gsub(('"%s":[^,]+'):format(name), ('"%s":%s'):format(name, other))
            fails(step(part, kind, wrong), ("%s: %s must be"):format(where, name))
          end
        end
      end
      fails(step(part, "Odd", ""), part .. ": 'Odd' is not there; known are ")
      fails(('{"%s":7,"model":%s}'):format(part, WORDS), part .. ": it must be an object, got a ")
      fails(('{"%s":{},"model":%s}'):format(part, WORDS), part .. ": type must be a string, got no")
    end)
  end

  -- Files of old have fewer members.
  it("takes members that are left out for what they mostly are", function()
    local text = "  A b.c  dé "
    local function same(part, kind, without, with)
      local function details(members)
        local more = part == "pre_tokenizer" and "" or
          ',"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":true}'
        local words = '{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"Ġ":2,"ĠA":3,'
          .. '"Ġb":4,".":5,"c":6,"▁A":7,"▁b":8,"b":9}}'
        local json = ('{"%s":{"type":"%s"%s}%s,"model":%s}'):format(part, kind, members, more,
          words)
        local result = read(json):encode(text, { details = true })
        return { result.ids, result.first, result.last, result.special }
      end
      assert.same(details(with), details(without), kind)
    end
    same("pre_tokenizer", "ByteLevel", "", ',"add_prefix_space":true,"use_regex":true')
    same("pre_tokenizer", "Metaspace", ',"replacement":"▁"',
      ',"replacement":"▁","prepend_scheme":"always","split":true')
    same("pre_tokenizer", "Digits", "", ',"individual_digits":false')
    same("pre_tokenizer", "Punctuation", "", ',"behavior":"Isolated"')
    same("pre_tokenizer", "FixedLength", "", ',"length":5')
    same("normalizer", "BertNormalizer", "", ',"clean_text":true,"handle_chinese_chars":true,'
      .. '"strip_accents":true,"lowercase":true')
    same("normalizer", "Strip", "", ',"strip_left":true,"strip_right":true')
    same("post_processor", "ByteLevel", "", ',"trim_offsets":true,"add_prefix_space":true')
    local pair = ',"sep":["a",1],"cls":["a",1]'
    same("post_processor", "RobertaProcessing", pair,
      pair .. ',"trim_offsets":true,"add_prefix_space":true')
  end)

  it("refuses values that steps cannot have", function()
    local function refuses(part, kind, members, message)
      fails(step(part, kind, members), ("%s: %s: %s"):format(part, kind, message))
    end
    for _, text in ipairs { '""', '"xy"' } do
      refuses("pre_tokenizer", "CharDelimiterSplit", '"delimiter":' .. text,
        "delimiter must be one character")
      refuses("pre_tokenizer", "Metaspace", '"replacement":' .. text,
        "replacement must be one character")
    end
    read(step("pre_tokenizer", "CharDelimiterSplit", '"delimiter":"€"'))
    refuses("pre_tokenizer", "FixedLength", '"length":0', "length must be at least 1")
    refuses("pre_tokenizer", "FixedLength", '"length":1.5', "length must be a whole number")
    refuses("pre_tokenizer", "FixedLength", '"length":1073741825', "length must be a whole number")
    read(step("pre_tokenizer", "FixedLength", '"length":1073741824'))
    refuses("decoder", "Strip", '"content":"x","start":-1', "start must be a whole number")
    refuses("pre_tokenizer", "Split", '"pattern":"x","behavior":"Odd"', "behavior 'Odd' is not")
    refuses("pre_tokenizer", "Split", '"pattern":{"Odd":"x"}', "'Odd' is not there")
    refuses("pre_tokenizer", "Split", '"pattern":{}', "String must be a string, got nothing")
    refuses("pre_tokenizer", "Split", '"pattern":7', "pattern must be an object, got a number")
    refuses("pre_tokenizer", "Split", '"behavior":"Removed"', "pattern must be an object, got noth")
    refuses("normalizer", "Replace", '"pattern":"x"', "content must be a string, got nothing")
    refuses("normalizer", "Prepend", "", "prepend must be a string, got nothing")
    for _, map in ipairs { "", "AAE=", "AA*AAA==", "AAEAA", "BAAAAAAA", "AwAAAAAAAA==",
      "BAAAAAAAAAD/" } do
      refuses("normalizer", "Precompiled", ('"precompiled_charsmap":"%s"'):format(map),
        "precompiled_charsmap must ")
    end
    read(step("normalizer", "Precompiled", '"precompiled_charsmap":"BAAAAAAAAABhAA=="'))
  end)

  it("refuses what cannot be put around texts", function()
    local function refuses(kind, members, message)
      fails(step("post_processor", kind, members), message)
    end
    for _, pair in ipairs { '["a"]', '["a",0,0]', '["a","0"]', '["a",-1]', '["a",2147483648]' } do
      refuses("BertProcessing", '"sep":["a",0],"cls":' .. pair, "cls must be a token and its id")
    end
    refuses("BertProcessing", '"cls":["a",0]', "sep must be a list, got nothing")
    refuses("BertProcessing", '"sep":["a",0],"cls":["a",2]', "ids must be those of tokens, below 2")
    local function template(single, special)
      return ('"single":[%s],"pair":[],"special_tokens":{"a":%s}'):format(single, special or
        '{"id":"a","ids":[0]}')
    end
    local A = '{"SpecialToken":{"id":"a","type_id":0}}'
    read(step("post_processor", "TemplateProcessing", template(A)))
    refuses("TemplateProcessing", template('{"Odd":{}}'), "must be a Sequence or a SpecialToken")
    refuses("TemplateProcessing", template('{"Sequence":{"id":"C"}}'), "must be A or B, got 'C'")
    refuses("TemplateProcessing", template('{"Sequence":{"id":"B"}}'), "must name the sequence A")
    refuses("TemplateProcessing", template('{"Sequence":{}}'), "id must be a string, got nothing")
    refuses("TemplateProcessing", template('{"Sequence":{"id":"A","type_id":-1}}'),
      "type_id must be a whole number")
    refuses("TemplateProcessing", template('{"SpecialToken":{"id":"b"}}'), "must have 'b'")
    refuses("TemplateProcessing", template(A, "{}"), "ids must be a list, got nothing")
    for _, id in ipairs { '"0"', "-1", "2147483648" } do
      refuses("TemplateProcessing", template(A, ('{"ids":[%s]}'):format(id)),
        "ids of 'a' must be whole numbers")
    end
    refuses("TemplateProcessing", template(A, '{"ids":[2]}'), "must be those of tokens, below 2")
    refuses("TemplateProcessing", '"single":[]', "pair must be a list, got nothing")
    local two = '{"type":"Sequence","processors":[{"type":"BertProcessing","sep":["a",0],'
      .. '"cls":["a",0]},{"type":"%s","sep":["a",0],"cls":["a",0]}]}'
    fails(('{"post_processor":%s,"model":%s}'):format(two:format "BertProcessing", WORDS),
      "one part must add tokens, got 2")
  end)

  it("refuses sequences that are nested too deeply", function()
    local function nested(n)
      return '{"normalizer":' .. ('{"type":"Sequence","normalizers":['):rep(n)
        .. '{"type":"NFC"}' .. (']}'):rep(n) .. ',"model":' .. WORDS .. "}"
    end
    read(nested(15))
    fails(nested(25), "nested too deeply")
    fails('{"normalizer":{"type":"Sequence"},"model":' .. WORDS .. "}",
      "normalizers must be a list")
  end)

  it("refuses models that are not there or not whole", function()
    local function model(text) return '{"model":' .. text .. "}" end
    local function refuses(text, message) fails(model(text), message) end
    fails("{}", "model must be an object, got nothing")
    fails('{"model":' .. WORDS .. ',"odd":1}', "'odd' is not there")
    refuses('{"type":7,"vocab":{}}', "model: 'a number' is not there")
    refuses('{"type":"WordLevel"}', "vocab must be an object of words with ids")
    refuses('{"type":"WordLevel","vocab":7}', "vocab must be an object of words with ids")
    refuses('{"type":"WordLevel","vocab":[["a",-1]]}', "vocab must be an object of words with ids")
    refuses('{"type":"Unigram","vocab":{"a":0}}', "vocab must be a list of words with scores")
    refuses('{"type":"Unigram","vocab":[["a"]]}', "must have two elements, got fewer")
    refuses('{"type":"Unigram","vocab":[["a",1,2]]}', "must have two elements, got more")
    refuses('{"type":"Unigram","unk_id":1,"vocab":[["a",-1]]}', "unk_id must be below 1")
    read(model '{"type":"Unigram","unk_id":0,"vocab":[["a",-1]]}')
    refuses('{"type":"WordLevel","vocab":{"a":2147483648}}', "must be below 2^31")
    refuses('{"type":"WordLevel","vocab":{"a":0},"vocab":{"a":0}}', "must be there once")
    refuses('{"type":"WordLevel","vocab":{"a":0},"merges":[]}', "'merges' is not there")
    refuses('{"type":"BPE","vocab":{"a":0}}', "merges must be a list, got nothing")
    refuses('{"type":"BPE","vocab":{"a":0},"merges":[["a"]]}', "must have two elements, got fewer")
    refuses('{"type":"BPE","vocab":{"a":0},"merges":["a"]}', "two words with one space between")
    refuses('{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}', "two words with one space between")
    refuses('{"type":"BPE","vocab":{"a":0},"merges":["a a"]}', "merge 0")
    refuses('{"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1}', "dropout must be null or 0")
    read(model '{"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0}')
    for name, value in pairs { fuse_unk = "7", byte_fallback = '"x"', ignore_merges = "7",
      unk_token = "7", continuing_subword_prefix = "7", end_of_word_suffix = "true" } do
      refuses(('{"type":"BPE","vocab":{"a":0},"merges":[],"%s":%s}'):format(name, value),
        name .. " must be")
    end
    refuses(('{"type":"BPE","vocab":{"a":0},"merges":[],"end_of_word_suffix":"%s"}'):format(
      ("x"):rep(101)), "end_of_word_suffix must have at most 100 bytes, got 101")
    refuses('{"type":"WordPiece","vocab":{"[UNK]":0},"max_input_chars_per_word":-1}',
      "max_input_chars_per_word must be a whole number")
  end)

  it("has ids of its own for words, few beyond the number of words", function()
    local function words(text) return '{"model":{"type":"WordLevel","vocab":' .. text .. "}}" end
    read(words '{"a":0,"b":65551}')
    fails(words '{"a":0,"b":65552}', "token 'b': its id must be below 65552, got 65552")
    for _, n in ipairs { 60, 61 } do
      local name = ("x"):rep(n)
      fails(words(('{"%s":65544}'):format(name)), ("token '%s': its id must be below 65544, got "
        .. "65544"):format(name:sub(1, 60)))
      fails(words(('{"b":3,"%s":3}'):format(name)), ("token '%s': its id must be its own, got 3, "
        .. "which 'b' has"):format(name:sub(1, 60)))
      fails(words(('{"%s":3,"b":3}'):format(name)), ("token 'b': its id must be its own, got 3, "
        .. "which '%s' has"):format(name:sub(1, 60)))
    end
  end)

  it("needs a token for what is unknown only where something is", function()
    local function lacks(model, known, message)
      local t = read('{"model":' .. model .. "}")
      assert.same({ 0 }, t:encode(known))
      helper.fails(function() t:encode(known .. "z") end, message)
    end
    lacks('{"type":"WordPiece","vocab":{"a":0},"unk_token":"?"}', "a",
      "model: unk_token must be a token of the vocabulary for texts with other words, got '?'")
    lacks('{"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"?"}', "a",
      "model: unk_token must be a token of the vocabulary, got '?'")
    lacks('{"type":"Unigram","vocab":[["a",-1]]}', "a",
      "model: unk_id must be given for texts with unknown characters")
  end)

  it("tells models of old by what they have", function()
    local function first_of(model, text) return read('{"model":' .. model .. "}"):encode(text) end
    assert.same({ 2 }, first_of('{"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}', "ab"))
    assert.same({ 1 }, first_of('{"unk_id":0,"vocab":[["?",0],["ab",-1]]}', "ab"))
    assert.same({ 1, 2 }, first_of('{"vocab":{"[UNK]":0,"a":1,"#b":2},"continuing_subword_prefix":'
      .. '"#","max_input_chars_per_word":9,"unk_token":"[UNK]"}', "ab"))
    assert.same({ 1 }, first_of('{"unk_token":"a","vocab":{"a":0,"ab":1}}', "ab"))
  end)

  it("refuses added tokens, truncation and padding that cannot be", function()
    local function with(name, value)
      return ('{"%s":%s,"model":%s}'):format(name, value, WORDS)
    end
    local function token(more) return with("added_tokens", ('[{"id":2%s}]'):format(more)) end
    read(token ',"content":"x"')
    fails(with("added_tokens", "7"), "added_tokens: it must be a list, got a number")
    fails(with("added_tokens", "[7]"), "added_tokens: each must be an object, got a number")
    fails(token "", "content must be a string, got nothing")
    fails(token ',"content":""', "content must have 1 to 1024 bytes, got 0")
    fails(token(',"content":"' .. ("x"):rep(1025) .. '"'), "must have 1 to 1024 bytes, got 1025")
    read(token(',"content":"' .. ("x"):rep(1024) .. '"'))
    fails(token ',"content":"x","odd":1', "added_tokens: 'odd' is not there")
    for _, name in ipairs { "special", "single_word", "lstrip", "rstrip", "normalized" } do
      fails(token((',"content":"x","%s":7'):format(name)), name .. " must be true or false")
    end
    fails(token ',"content":"b"', "the id of 'b' must be 1, as in the vocabulary, got 2")
    fails(with("added_tokens", '[{"id":3,"content":"x"}]'),
      "must be 2, the next that is free, got 3")
    fails(with("added_tokens", '[{"content":"x"}]'), "the next that is free, got -1")
    fails(with("added_tokens", '[{"id":2,"content":"x"},{"id":2,"content":"x"}]'), "added_tokens")
    for text, message in pairs { ['{"odd":1}'] = "'odd' is not there",
      ['{"direction":"Up"}'] = "direction 'Up' is not there",
      ['{"strategy":"Odd"}'] = "strategy 'Odd' is not there",
      ['{"max_length":-1}'] = "max_length must be a whole number",
      ['{"stride":"1"}'] = "stride must be a whole number" } do
      fails(with("truncation", text), "truncation: " .. message)
    end
    for text, message in pairs { ['{"odd":1}'] = "'odd' is not there",
      ['{"direction":"Up"}'] = "direction 'Up' is not there",
      ['{"strategy":"Odd"}'] = "strategy must be BatchLongest or Fixed, got 'Odd'",
      ['{"strategy":7}'] = "strategy must be a string",
      ['{"strategy":{"Odd":1}}'] = "'Odd' is not there",
      ['{"strategy":{"Fixed":-1}}'] = "Fixed must be a whole number",
      ['{"pad_id":-1}'] = "pad_id must be a whole number",
      ['{"pad_type_id":"x"}'] = "pad_type_id must be a whole number",
      ['{"pad_to_multiple_of":0.5}'] = "pad_to_multiple_of must be a whole number" } do
      fails(with("padding", text), "padding: " .. message)
    end
  end)

  it("refuses expressions that are not there", function()
    local function refuses(regex, message)
      fails(step("pre_tokenizer", "Split", ('"pattern":{"Regex":"%s"}'):format(regex)), message)
    end
    for regex, message in pairs { ["a)"] = "'(' must stand before ')'", ["(a"] = "')' must follow",
      ["*"] = "nothing stands there to repeat", ["a**"] = "nothing stands there to repeat",
      ["(?<name>a)"] = "", ["(?<=ab)c"] = "looking back for more than one character",
      ["[a"] = "", ["[b-a]"] = "", ["\\\\p{Greek}"] = "general categories",
      ["\\\\pL"] = "'{' and '}' must follow", ["\\\\p{L"] = "'{' and '}' must follow",
      ["\\\\x{110000}"] = "at most 10ffff", ["\\\\xg"] = "digits of \\x must follow",
      ["\\\\x{41"] = "digits of \\x must follow", ["^a"] = "'^' and '$' are not there",
      ["(a*)*"] = "what repeats must not be empty", ["a{3,2}"] = "this number of times",
      ["a{1001}"] = "this number of times", ["(?#a)"] = "this kind of group",
      ["(ab){1000}(ab){1000}(ab){1000}"] = "it is too long",
      [("("):rep(40) .. (")"):rep(40)] = "nested too deeply",
      [("a|"):rep(40)] = "too many alternatives", ["\\\\"] = "" } do
      refuses(regex, "regex '")
      refuses(regex, message)
    end
    for regex, message in pairs { ["(ab){0,2}"] = "a group that repeats {0,n} times is not there",
      ["[[:alpha:]]"] = "classes such as [:alpha:] are not there", ["[a&&b]"] = "&& is not there",
      ["\\\\q"] = "this escape is not there", ["[a"] = "']' must follow",
      ["[b-a]"] = "a range must end with a later character",
      ["(?<name>a)"] = "this kind of group is not there" } do
      refuses(regex, message)
    end
    -- What is just within a bound, and what just beyond.
    for _, case in ipairs { { ("("):rep(32) .. "a" .. (")"):rep(32),
      ("("):rep(33) .. "a" .. (")"):rep(33) }, { "a{1000}", "a{1001}" }, { "a{0,1000}",
      "a{0,1001}" }, { "\\\\x{10ffff}", "\\\\x{110000}" }, { ("a|"):rep(31) .. "a",
      ("a|"):rep(32) .. "a" }, { "[a-a]", "[b-a]" }, { "a{2,2}", "a{2,1}" },
      { "(ab){0,1}", "(ab){0,2}" }, { "(?<=a)b", "(?<=ab)b" } } do
      read(step("pre_tokenizer", "Split", ('"pattern":{"Regex":"%s"}'):format(case[1])))
      refuses(case[2], "regex '")
    end
    local slow = read(step("pre_tokenizer", "Split", '"pattern":{"Regex":"(?:a|a)*b"}'))
    helper.fails(function() slow:encode(("a"):rep(30)) end, "must not need so many attempts")
  end)
end)
