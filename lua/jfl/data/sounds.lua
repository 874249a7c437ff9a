-- Sounds: WAV files as arrays, as columns of data sets and as mel spectrograms.
---@box data.load_sound data.save_sound data.resample data.mel
---@flow data.sounds data.sound_folder
local archive = require "jfl.data.archive"
local args = require "jfl.base.args"
local core = require "jfl.core"
local ffi = require "ffi"
local lazy = require "jfl.data.lazy"
local pictures = require "jfl.data.pictures"

local sounds = {}

local RATE = "a whole number from 100 to 768000"
local MOST_LENGTH = 2 ^ 28       -- samples of a sound
local MOST_CHANNELS = 64

-- ---- options ----

local MEL = { n_fft = 400, hop = 160, bands = 80, low = 0, high = 0, scale = "slaney",
  norm = "slaney", log = "log" }
local WORDS = { scale = { slaney = true, htk = true }, norm = { slaney = true, none = true },
  log = { none = true, log = true, whisper = true } }

-- What a mel spectrogram of sounds at that rate is made of: of a table, or true for Whisper's.
local function read_mel(who, given, rate)
  if given == true then given = { log = "whisper" } end
  local o = {}
  for name, value in pairs(MEL) do o[name] = value end
  args.known(who .. ": mel", args.expect(who, "mel", given, "boolean or table"), MEL, "name")
  for name, value in pairs(given) do
    o[name] = args.expect(who, "mel: " .. name, value, type(MEL[name]))
  end
  for name, words in pairs(WORDS) do
    if not words[o[name]] then
      core.fail("%s: mel: %s must be %s, got %s", who, name, args.names_of(words),
        args.describe(o[name]))
    end
  end
  for _, name in ipairs { "n_fft", "hop", "bands" } do
    args.integer(who, "mel: " .. name, o[name], name == "n_fft" and 2 or 1)
  end
  if o.high == 0 then o.high = rate / 2 end
  if not (o.low >= 0 and o.low < o.high and o.high <= rate / 2) then
    core.fail("%s: mel: low and high must be from 0 to %g Hz, the lower one first, got %g and %g",
      who, rate / 2, o.low, o.high)
  end
  o.rate, o.unit_area = rate, o.norm == "slaney"
  return o
end

--- The parameters that columns of sounds share.
sounds.PARAMS = {
  { "seconds", "how long each is: longer ones are cut, shorter ones end with silence",
    type = "number" },
  { "rate", "samples a second, which others are brought to", 16000 },
  { "mel", "true for the spectrogram that Whisper takes; or what flow.data.mel takes by name; "
    .. "else samples", args.none, type = "boolean|table" },
  { "part", "which part of longer ones is kept: the first, or one that changes from epoch to epoch",
    "first", words = { "first", "random" } },
  { "bad", "what a file is that cannot be read: an \"error\", or \"skip\": another one of the "
    .. "batch stands in its place", "error", words = { "error", "skip" } },
}

--- What a column of sounds is, of the options of a call.
function sounds.read_column(who, o)
  local rate = args.number(who, "rate", o.rate, RATE)
  local length = math.floor(o.seconds * rate + 0.5)
  args.check(length >= 1 and length <= MOST_LENGTH, "%s: seconds must make from 1 to 2^28 samples, "
    .. "got %g", who, o.seconds)
  local spec = { kind = "sound", rate = rate, channels = 1, length = length,
    part = o.part == "random", mel = o.mel and read_mel(who, o.mel, rate) or nil }
  return { spec = spec, bad = o.bad, text = function(n)
    return ("%d sounds of %g seconds"):format(n, o.seconds)
  end }
end

-- ---- columns ----

local function with(first)
  local list = { first }
  for i, param in ipairs(sounds.PARAMS) do list[i + 1] = param end
  return list
end

--- WAV files as a column of a data set, for flow.data.batches: float32 (batch, 1, samples) from -1
-- to 1, or with mel (batch, bands, windows). They are read when their batch is due, on its threads.
sounds.sounds = args.define("data.sounds", "WAV files as a column of a data set.", {
  returns = "Sounds", unpack(with { "paths", "their names", type = "string[]" }),
}, function(o, who) return lazy.files(who, o.paths, sounds.read_column(who, o)) end)

--- WAV files of a folder that has a sub-folder for each class, as flow.data.image_folder has it.
sounds.sound_folder = args.define("data.sound_folder", "A folder of WAV files, with a sub-folder a "
  .. "class: a data set with sounds, labels (int32, from 0) and classes, their names.", {
  returns = "SoundFolder", unpack(with { "path", "of the folder", type = "string" }),
}, function(o, who)
  return pictures.classes(who, o.path, "sounds", sounds.read_column(who, o), { wav = true }, ".wav")
end)

-- ---- one sound ----

--- The WAV file as an NdArray, float32 (channels, samples) from -1 to 1, and its samples a second:
-- of 8, 16, 24 or 32 bits, or of floats. With rate it is brought to that, with mono its channels
-- become their mean.
sounds.load_sound = args.define("data.load_sound", "A WAV file as an NdArray, and its rate.", {
  returns = "NdArray, integer", { "path", "of the file", type = "string" },
  { "rate", "samples a second; else its own", args.none, type = "integer", range = RATE },
  { "mono", "whether its channels become one, their mean", false, type = "boolean" },
}, function(o, who)
  local text, why = archive.read(o.path)
  if not text then core.fail("%s: %s", who, why) end
  local what = who .. ": " .. o.path
  local rate = core.sound_head(text, what)
  local spec = { kind = "sound", rate = o.rate or rate, channels = o.mono and 1 or 0 }
  return core.sample(text, spec, 0, what), spec.rate
end)

local function u16(n) return string.char(n % 256, math.floor(n / 256)) end
local function u32(n) return u16(n % 65536) .. u16(math.floor(n / 65536)) end

-- The samples of all channels, one after another, as bytes of 16 bits.
local function frames_of(sound, channels)
  local n = sound.size / channels
  local out = core.array("uint8", { 2 * sound.size })
  local to = ffi.cast("uint8_t *", core.pointer(out))
  local from = ffi.cast("float *", core.pointer(sound))
  for c = 0, channels - 1 do
    for i = 0, n - 1 do
      local v = math.floor(from[c * n + i] * 32767 + 0.5)
      v = v >= 32767 and 32767 or v >= -32768 and v or v == v and -32768 or 0
      local at = 2 * (i * channels + c)
      to[at], to[at + 1] = v % 256, math.floor(v / 256) % 256
    end
  end
  return core.bytes(out)
end

local function need_sound(who, sound)
  local fits = core.type(sound) == "array" and (#sound.shape == 1 or #sound.shape == 2)
    and sound.size > 0
  if fits then return core.cast(sound, "float32") end
  core.fail("%s: sound must be an NdArray of shape (samples) or (channels, samples), got %s", who,
    args.describe(sound))
end

--- Saves a sound, (samples) or (channels, samples) from -1 to 1, as a WAV file of 16 bits; what is
-- beyond is cut off.
sounds.save_sound = args.define("data.save_sound", "Saves a sound as a WAV file.", {
  { "path", "of the file", type = "string" },
  { "sound", "(samples) or (channels, samples)", type = "NdArray" },
  { "rate", "samples a second", 16000, range = RATE },
}, function(o, who)
  local rate, sound = o.rate, need_sound(who, o.sound)
  local channels = #sound.shape == 2 and sound.shape[1] or 1
  args.fits(channels <= MOST_CHANNELS and sound.size <= MOST_LENGTH, sound.shape,
    "%s: sound must have at most %d channels and 2^28 samples, got", who, MOST_CHANNELS)
  local frames = frames_of(sound, channels)
  archive.replace(who, o.path, function(write)
    write("RIFF" .. u32(36 + #frames) .. "WAVEfmt " .. u32(16) .. u16(1) .. u16(channels)
      .. u32(rate) .. u32(rate * channels * 2) .. u16(channels * 2) .. u16(16) .. "data"
      .. u32(#frames))
    write(frames)
  end)
end)

--- The sound at another rate: a sum of the samples around each result, weighted by a sinc that ends
-- under a window (Smith, "Digital audio resampling", 2002). What the lower rate cannot hold is
-- taken away.
sounds.resample = args.define("data.resample", "A sound at another rate.", {
  returns = "NdArray", { "sound", "(samples) or (channels, samples)", type = "NdArray" },
  { "from", "its samples a second", type = "integer", range = RATE },
  { "to", "those of the result", type = "integer", range = RATE },
}, function(o, who)
  return core.resample(need_sound(who, o.sound), o.from, o.to, who)
end)

--- How loud a sound is around frequencies that lie evenly on the mel scale, window by window:
-- (bands, windows). Each window of n_fft samples, hop behind the one before, goes under Hann's
-- window; the sound goes on mirrored at its ends. scale and norm are "slaney" as librosa has them,
-- or "htk" and "none". log: "log", the natural logarithm, "none", or "whisper", what Whisper's
-- networks take, with n_fft = 400, hop = 160 and 80 or 128 bands of sounds at 16000 Hz, which are
-- 30 seconds long.
sounds.mel = args.define("data.mel", "The mel spectrogram of a sound.", {
  returns = "NdArray", { "sound", "(samples) or (channels, samples)", type = "NdArray" },
  { "rate", "samples a second", 16000, range = RATE },
  { "n_fft", "samples of a window", MEL.n_fft }, { "hop", "samples from one to the next", MEL.hop },
  { "bands", "how many", MEL.bands },
  { "low", "Hz where the lowest begins", MEL.low },
  { "high", "Hz where the highest ends; 0: half the rate", MEL.high },
  { "scale", "slaney or htk", MEL.scale },
  { "norm", "slaney: bands of one area; none: of one height", MEL.norm },
  { "log", "log, whisper or none", MEL.log },
}, function(o, who)
  local given = {}
  for name in pairs(MEL) do given[name] = o[name] end
  return core.mel(need_sound(who, o.sound), read_mel(who, given, o.rate), who)
end)

return sounds
