-- WAV files, other rates, mel spectrograms, and sounds in batches.
local flow = require "jfl"
local helper = require "spec.lua.helper"

local nd = flow.ndarray

-- What spec/oracle/mel.py prints: numbers of transformers at places (band, window), from 0.
local WHISPER = { { 0, 0, 1.168015 }, { 5, 10, 0.3940728 }, { 20, 100, -0.5494888 },
  { 40, 150, -0.5494888 }, { 30, 299, -0.2644297 }, { 10, 301, -0.2897873 },
  { 60, 2999, -0.5494888 } }
local SLANEY = { { 0, 0, 16.20773 }, { 3, 5, 32.78859 }, { 10, 60, 1.024449e-07 },
  { 20, 100, 1.342676e-07 }, { 39, 240, 0.0100789 } }
local HTK = { { 0, 0, 414.7929 }, { 3, 5, 472.7599 }, { 10, 60, 3.84273e-06 },
  { 20, 100, 7.155504e-05 }, { 39, 240, 4.338112 } }

-- Three seconds at 16000 Hz of what the oracle hears.
local function chirp(n)
  local x = {}
  for i = 1, n do
    local t = (i - 1) / 16000
    x[i] = i > 48000 and 0 or 0.5 * math.sin(2 * math.pi * (200 + 900 * t) * t)
      + 0.1 * math.cos(2 * math.pi * 3000 * t)
  end
  return nd.array(x)
end

local function check_places(mel, places)
  for _, p in ipairs(places) do
    assert.near(p[3], mel:get(p[1] + 1, p[2] + 1), 1e-4 * math.abs(p[3]) + 1e-9)
  end
end

describe("mel spectrograms", function()
  it("are those that Whisper's networks take", function()
    local mel = flow.data.mel(chirp(480000), 16000, { log = "whisper" })
    assert.same({ 80, 3000 }, mel.shape)
    check_places(mel, WHISPER)
    assert.near(-127962.48, mel:sum(), 0.5)
  end)

  it("have bands on the scales of Slaney and HTK", function()
    local o = { bands = 40, low = 50, high = 7600, hop = 200, log = "none" }
    local mel = flow.data.mel(chirp(48000), 16000, o)
    assert.same({ 40, 241 }, mel.shape)
    check_places(mel, SLANEY)
    assert.near(5986.4606, mel:sum(), 0.01)
    o.scale, o.norm = "htk", "none"
    mel = flow.data.mel(chirp(48000), 16000, o)
    check_places(mel, HTK)
    assert.near(942236.06, mel:sum(), 2)
  end)

  it("take channels one by one, windows of any size, and sounds shorter than one", function()
    local x = nd.rand({ 2, 500 })
    local both = flow.data.mel(x, 8000, { n_fft = 97, hop = 31, bands = 6 })
    assert.same({ 2, 6, 17 }, both.shape)
    assert.near(flow.data.mel(x[2], 8000, { n_fft = 97, hop = 31, bands = 6 }):get(3, 4),
      both:get(2, 3, 4), 1e-6)
    assert.same({ 80, 1 }, flow.data.mel(nd.array({ 0.5 })).shape)
  end)

  it("refuse what makes no sense", function()
    local x = nd.rand({ 100 })
    helper.fails(function() flow.data.mel(x, 16000, { low = 9000 }) end,
      "mel: low and high must be from 0 to 8000 Hz, the lower one first, got 9000 and 8000")
    helper.fails(function() flow.data.mel(x, 16000, { scale = "bark" }) end,
      "mel: scale must be htk, slaney, got string 'bark'")
    helper.fails(function() flow.data.mel(nd.zeros({ 2, 2, 2 })) end, "sound must be an NdArray")
  end)
end)

describe("another rate", function()
  local function tone(hz, rate, n)
    local x = {}
    for i = 1, n do x[i] = math.sin(2 * math.pi * hz * (i - 1) / rate) end
    return nd.array(x)
  end

  it("keeps tones that it can hold, and takes away others", function()
    for _, rates in ipairs { { 44100, 16000 }, { 16000, 44100 }, { 8000, 11025 }, { 48000, 8000 },
      { 16001, 15999 } } do
      local from, to = rates[1], rates[2]
      local low = flow.data.resample(tone(700, from, 4000), from, to)
      local n = low.shape[1]
      assert.equal(math.ceil(4000 * to / from), n)
      local wanted = tone(700, to, n)
      for i = math.floor(n / 4), math.floor(3 * n / 4) do assert.near(wanted[i], low[i], 2e-3) end
    end
    local high = flow.data.resample(tone(12000, 44100, 4000), 44100, 16000)
    for i = 400, 1000 do assert.near(0, high[i], 2e-3) end
  end)

  it("keeps every moment where it is, from the first to the last", function()
    for _, rates in ipairs { { 2, 3 }, { 3, 2 }, { 1, 4 }, { 4, 1 } } do
      local from, to, n = rates[1] * 1000, rates[2] * 1000, 40 * rates[1] + 1
      for at = 0, n - 1, rates[1] do
        local x = {}
        for i = 1, n do x[i] = i == at + 1 and 1 or 0 end
        local y = flow.data.resample(nd.array(x), from, to)
        local want = at / rates[1] * rates[2]
        assert.equal(want, flow.math.argmax(y):item(), ("%d of %d"):format(at, n))
      end
    end
  end)

  it("keeps channels apart, and is the same sound at the same rate", function()
    local x = nd.rand({ 2, 300 }) - 0.5
    local y = flow.data.resample(x, 8000, 12000)
    local second = flow.data.resample(x[2], 8000, 12000)
    for i = 1, 450, 7 do assert.equal(second[i], y:get(2, i)) end
  end)
end)

describe("WAV files", function()
  local path = helper.folder(before_each, after_each)
  local function u16(n) return string.char(n % 256, math.floor(n / 256)) end
  local function u32(n) return u16(n % 65536) .. u16(math.floor(n / 65536)) end

  local function wav(format, bits, channels, data, o)
    o = o or {}
    local size = channels * bits / 8
    local fmt = u16(format) .. u16(channels) .. u32(o.rate or 16000) .. u32(16000 * size)
      .. u16(size) .. u16(bits) .. (o.extra or "")
    return "RIFF" .. u32(4) .. "WAVE" .. "LIST" .. u32(3) .. "abc\0fmt " .. u32(#fmt) .. fmt
      .. "data" .. u32(o.size or #data) .. data
  end

  local function load(text, o)
    helper.write(path "a.wav", text)
    return flow.data.load_sound(path "a.wav", o)
  end

  it("are read in each width", function()
    assert.same({ -1, 0, 0.9921875 }, load(wav(1, 8, 1, "\0\128\255"))[1]:totable())
    assert.same({ 0.5, -1 }, load(wav(1, 16, 1, "\0\64\0\128"))[1]:totable())
    assert.same({ 0.5, -1 }, load(wav(1, 24, 1, "\0\0\64\0\0\128"))[1]:totable())
    assert.same({ 0.5, -1 }, load(wav(1, 32, 1, "\0\0\0\64\0\0\0\128"))[1]:totable())
    assert.same({ 1, -2 }, load(wav(3, 32, 1, "\0\0\128\63\0\0\0\192"))[1]:totable())
    assert.same({ 1 }, load(wav(3, 64, 1, "\0\0\0\0\0\0\240\63"))[1]:totable())
    local extra = u16(22) .. u16(16) .. u32(4) .. u16(1) .. ("\0"):rep(14)
    local wide = wav(0xFFFE, 16, 1, "\0\64\0\128", { extra = extra })
    assert.same({ 0.5, -1 }, load(wide)[1]:totable())
  end)

  it("have channels, which mono makes one", function()
    local text = wav(1, 16, 2, "\0\64\0\0\0\128\0\128")
    local sound, rate = load(text)
    assert.same({ { 0.5, -1 }, { 0, -1 } }, sound:totable())
    assert.equal(16000, rate)
    assert.same({ { 0.25, -1 } }, load(text, { mono = true }):totable())
  end)

  it("may leave the size of their data open", function()
    assert.same({ 0.5, -1 }, load(wav(1, 16, 1, "\0\64\0\128", { size = 2 ^ 32 - 1 }))[1]:totable())
    assert.same({ 0.5, -1 }, load(wav(1, 16, 1, "\0\64\0\128", { size = 0 }))[1]:totable())
  end)

  it("are saved as they are read", function()
    local x = nd.array({ { 0.5, -0.25, 2 }, { -2, 0, 1 } })
    flow.data.save_sound(path "b.wav", x, 22050)
    local y, rate = flow.data.load_sound(path "b.wav")
    assert.equal(22050, rate)
    for i, v in ipairs { 0.5, -0.25, 1 } do assert.near(v, y:get(1, i), 1e-4) end
    for i, v in ipairs { -1, 0, 1 } do assert.near(v, y:get(2, i), 1e-4) end
  end)

  it("that are damaged are errors which name them", function()
    local good = wav(1, 16, 1, "\0\64\0\128")
    for text, why in pairs {
      ["RIFX"] = "it is no WAV file", [good:sub(1, 40)] = "cut short",
      [good:sub(1, -2)] = "the WAV is cut short",
      [wav(2, 16, 1, "ab")] = "got 16 bits of format 2", [wav(1, 12, 1, "ab")] = "got 12 bits",
      [wav(1, 16, 0, "ab")] = "got 0 at 16000", [wav(1, 16, 1, "ab", { rate = 3 })] = "got 1 at 3",
      [wav(1, 16, 1, "")] = "no samples", [good:sub(1, 48)] = "got no data",
      [good:sub(1, 12) .. good:sub(49)] = "got no format",
    } do
      helper.fails(function() load(text) end, why)
      helper.fails(function() load(text) end, "a.wav")
    end
  end)

  -- Two classes of two sounds each, 0.1 and 0.2 seconds long.
  local function folder()
    for k, class in ipairs { "high", "low" } do
      os.execute("mkdir -p " .. path(class))
      for i = 1, 2 do
        flow.data.save_sound(path(("%s/%d.wav"):format(class, i)), nd.full({ 800 * i }, k * i / 10),
          8000)
      end
    end
  end

  it("make a data set by class, of one length and rate", function()
    folder()
    local set = flow.data.sound_folder(path(), { seconds = 0.15, rate = 8000 })
    assert.same({ "high", "low" }, set.classes)
    local _, _, x, labels = flow.data.batches(set, { batch_size = 4 })()
    assert.same({ 4, 1, 1200 }, x.shape)
    assert.same({ 0, 0, 1, 1 }, labels:totable())
    assert.near(0.1, x:get(1, 1, 800), 1e-4)
    assert.equal(0, x:get(1, 1, 801))
    assert.near(0.4, x:get(4, 1, 1200), 1e-4)
    local mels = flow.data.sound_folder(path(), { seconds = 0.15, mel = { bands = 20 } })
    local _, _, m = flow.data.batches(mels, { batch_size = 3, workers = 2 })()
    assert.same({ 3, 20, 16 }, m.shape)
    local one = flow.data.load_sound(path "high/2.wav", { rate = 16000 })
    local part = nd.array({ unpack(one[1]:totable(), 1, 2400) })
    assert.near(flow.data.mel(part, 16000, { bands = 20 }):get(3, 4), m:get(2, 3, 4), 1e-4)
  end)

  it("give another part in every epoch where that is asked for", function()
    local x = {}
    for i = 1, 4000 do x[i] = i / 4000 end
    flow.data.save_sound(path "a.wav", nd.array(x), 8000)
    local set, firsts = flow.data.sounds({ path "a.wav" }, { seconds = 0.1, rate = 8000,
      part = "random" }), {}
    for _, _, part in flow.data.batches({ set }, { epochs = 5 }) do
      firsts[#firsts + 1] = part:get(1, 1, 1)
      assert.near(800 / 4000, part:get(1, 1, 800) - part:get(1, 1, 1) + 1 / 4000, 1e-3)
    end
    local differ = false
    for i = 2, 5 do differ = differ or math.abs(firsts[i] - firsts[1]) > 0.01 end
    assert.is_true(differ)
  end)
end)
