-- flow.summary: writes numbers, histograms, pictures and text of a run to files that TensorBoard
-- reads.
---@space summary
local args = require "jfl.base.args"
local metatable = require "jfl.base.metatable"
local core = require "jfl.core"
local event = require "jfl.tools.event"
local histogram = require "jfl.tools.histogram"
local picture = require "jfl.tools.picture"
local text = require "jfl.base.text"

local summary = {}

local MOST_STEP = 2 ^ 53

-- ---- writers ----

local Writer = {}
Writer.__index = Writer

function Writer:__tostring()
  return ("%ssummary writer of %s"):format(self.file and "" or "closed ", self.logdir)
end

-- The writer made last, or nil.
local current

-- Seconds to add to core.now(), which does not jump, to get the time of day.
local clock = os.time() - core.now()
local function time() return clock + core.now() end

-- What ranks but the first have in place of a file.
local NOTHING = {}

-- Opens a file that is not there yet, so that neither one of another writer is emptied nor one that
-- a link leads to.
local made = 0
local function open_file(writer, who)
  local number, host = core.process()
  local err, there
  repeat
    writer.path = ("%s/events.out.tfevents.%010d.%s.%d.%d"):format(writer.logdir, os.time(), host,
      number, made)
    writer.file, err, there = core.file_make(writer.path)
    made = made + 1
  until writer.file or not there
  if not writer.file then core.fail("%s: cannot write %s", who, err) end
  writer.process, writer.size = number, 0
end

-- Appends a record. It is handed to the system at once, so a crash of the program loses none. A
-- record that was not written whole is overwritten by the next, since readers stop at a damaged
-- one. A forked child has a file of its own, as its parent goes on with the first.
local function append(writer, who, data)
  if writer.file == NOTHING then return end
  if writer.process ~= core.process() then
    open_file(writer, who)
    append(writer, who, event.version(time()))
  end
  local record = event.record(data)
  local ok, why = core.file_write(writer.file, record, writer.size)
  if not ok then core.fail("%s: cannot write %s: %s", who, writer.path, why) end
  writer.size = writer.size + #record
end

-- A reader of a directory expects one writer: of several ranks that is the first.
local function open_nothing(logdir)
  return setmetatable({ logdir = logdir, path = "/dev/null", file = NOTHING, steps = {} }, Writer)
end

local function open(who, logdir)
  if core.world() > 0 then return open_nothing(logdir) end
  local ok, why = core.make_directory(logdir)
  if not ok then core.fail("%s: cannot make the directory %s: %s", who, logdir, why) end
  local writer = setmetatable({ logdir = logdir, steps = {} }, Writer)
  open_file(writer, who)
  return writer
end

--- Makes the writer that later calls use: a new event file in logdir, which is created if it is
-- missing. If the directory has an open writer, that one is used. Of several ranks the first one
-- writes, and what the others write is dropped.
summary.create_summary_writer = args.define("summary.create_summary_writer",
  "Opens an event file for TensorBoard, which later summaries are written to.", {
    { "logdir", "the directory that tensorboard --logdir is given, or one below it" },
    returns = "SummaryWriter",
  }, function(o, who)
    args.check(args.expect(who, "logdir", o.logdir, "string") ~= "", "%s: logdir must not be empty",
      who)
    if current and current.file and current.logdir == o.logdir then return current end
    local writer = open(who, o.logdir)
    local ok, err = pcall(append, writer, who, event.version(time()))
    if not ok then
      core.file_remove(writer.path)    -- which would be empty, or end within its first record
      error(err, 0)
    end
    current = writer
    return writer
  end)

-- The writer to use: the one given, or the one made last.
local function writer_of(who, writer)
  writer = writer or current
  args.check(writer, "%s: there is no writer yet; flow.summary.create_summary_writer(logdir) makes "
    .. "one", who)
  args.check(writer.file, "%s: the writer of %s is closed; flow.summary.create_summary_writer "
    .. "makes another", who, writer.logdir)
  return writer
end

local function check_writer(who, writer)
  if writer == nil or metatable(writer) == Writer then return writer end
  core.fail("%s: writer must be what create_summary_writer gave, got %s", who,
    args.describe(writer))
end

local WRITER = { "writer", "that writes it; the one made last", args.none, type = "SummaryWriter" }

--- Does nothing but check the writer: each record is handed to the system at once.
summary.flush_summary_writer = args.define("summary.flush_summary_writer",
  "Sees to it that all summaries so far are in their file.", { WRITER }, function(o, who)
    writer_of(who, check_writer(who, o.writer))
  end)

--- Closes an event file; closing it again does nothing.
summary.close = args.define("summary.close", "Closes a summary writer.", { WRITER }, function(o)
  local writer = check_writer("summary.close", o.writer) or current
  if not writer or not writer.file then return end
  local file = writer.file
  writer.file = nil
  if file == NOTHING then return end
  local ok, why = core.file_close(file)
  if not ok then core.fail("summary.close: cannot write %s: %s", writer.path, why) end
end)

-- ---- values ----

local function array_of(who, value)
  if core.type(value) == "array" then return value end
  if type(value) == "number" then value = { value } end
  args.must(args.is_plain(value), value,
    "%s: value must be a number, an NdArray, a table or a job's blob", who)
  return core.from_table(value, "float32", nil, who .. ": value")
end

local function check_text(who, name, value)
  if text.is_utf8(value) then return value end
  core.fail("%s: %s must be UTF-8 text, got '%s'", who, name, value)
end

local function check_step(who, step)
  if core.type(step) == "array" and step.size == 1 then step = step:item() end
  args.check(args.integer(who, "step", step, 0) <= MOST_STEP,
    "%s: step must be at most 2^53, got %g", who, step)
  return step
end

-- Writes values with a step; without one, the step after the tag's last.
local function put(who, o, step, values)
  local writer = writer_of(who, o.writer)
  step = step or (writer.steps[o.tag] or -1) + 1
  append(writer, who, event.summary(time(), step, values))
  writer.steps[o.tag] = step
end

-- Writes values of a job's body at every call, by watch handlers. A step that is a blob is watched
-- first, so that its value is there when the others are written.
local function observe(who, o, make)
  local watch, step = require("jfl.job.watch").watch, nil
  if core.type(o.step) == "blob" then
    watch(o.step, function(value) step = check_step(who, value) end)
  elseif o.step ~= nil then
    core.fail("%s: step must be a blob inside a body, such as an input of the job, or nothing, "
      .. "which counts the calls, got %s", who, args.describe(o.step))
  end
  watch(o.value, function(value) put(who, o, step, make(who, value, o)) end)
end

-- Defines a kind of summary. check(who, shape, o) fails early for a shape that will not do;
-- make(who, value, o) returns the values to write.
local function define(name, doc, value_doc, check, make, more)
  local who = "summary." .. name
  local params = { { "value", value_doc, type = "number|NdArray|table|Blob" },
    { "step", "a whole number, or in a body a blob; without one the tag's steps are counted from 0",
      args.none, type = "integer|Blob" },
    { "tag", "the name that it is shown under", args.none, type = "string" } }
  for _, param in ipairs(more or {}) do params[#params + 1] = param end
  params[#params + 1] = WRITER
  summary[name] = args.define(who, doc, params, function(o)
    args.check(o.tag ~= nil, "%s: the tag is missing; arguments are value, step, tag, and without "
      .. "a step %s(value, {tag = \"loss\"})", who, who)
    if o.tag == "" then core.fail("%s: tag must not be empty", who) end
    check_text(who, "tag", o.tag)
    check_writer(who, o.writer)
    if core.type(o.value) == "blob" then
      check(who, o.value.shape, o)
      return observe(who, o, make)
    end
    writer_of(who, o.writer)
    put(who, o, o.step ~= nil and check_step(who, o.step) or nil, make(who, o.value, o))
  end)
end

local function check_one(who, shape)
  if args.count(shape) == 1 then return end
  core.fail("%s: value must be one number, got %s of them, %s; their mean is value:mean(), in a "
    .. "body flow.math.reduce_mean(value)", who, args.count(shape), args.shape_text(shape))
end

--- Writes a number: summary.scalar(loss, step, "loss").
define("scalar", "Writes a number for TensorBoard's curves.", "a number, or an array of one",
  check_one, function(who, value, o)
    if type(value) == "number" then return { event.scalar(o.tag, value) } end
    local array = array_of(who, value)
    check_one(who, array.shape)
    return { event.scalar(o.tag, array:item()) }
  end)

--- Writes how the elements of an array are distributed; those that are not finite are left out.
define("histogram", "Writes how many of an array's elements are how large.",
  "an array of any shape; NaN and infinities are left out", function() end,
  function(who, value, o)
    return { event.histogram(o.tag, histogram.of(array_of(who, value))) }
  end)

local function check_picture(who, shape, o)
  picture.extents(who, shape, o.data_format)
end

--- Writes pictures of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGBA) channels. Several are shown
-- under tag/0, tag/1, ...
define("image", "Writes pictures.",
  "(N, H, W, C), (H, W, C) or (H, W), of floats in 0..1 or whole numbers in 0..255", check_picture,
  function(who, value, o)
    local array = array_of(who, value)
    check_picture(who, array.shape, o)
    local list, height, width, channels = picture.encode(who, array, o.data_format, o.max_outputs)
    for i, png in ipairs(list) do
      local tag = #list > 1 and ("%s/%d"):format(o.tag, i - 1) or o.tag
      list[i] = event.image(tag, height, width, channels, png)
    end
    return list
  end, {
    { "data_format", "NHWC, or NCHW: (N, C, H, W), (C, H, W) or (H, W)", "NHWC",
      words = { "NHWC", "NCHW" } },
    { "max_outputs", "the most pictures of one call", 3, least = 1 },
  })

--- Writes text, which TensorBoard shows as Markdown.
define("text", "Writes text, which is shown as Markdown.", "a string", function(who)
  core.fail("%s: value must be a string, got a blob", who)
end, function(who, value, o)
  args.expect(who, "value", value, "string")
  return { event.text(o.tag, check_text(who, "value", value)) }
end)

local PLAIN = "number or string or boolean"

--- Writes what a run was made with, for TensorBoard's table of runs:
-- summary.hparams({ rate = 0.1, optimizer = "Adam" }), once, before the scalars of the run.
summary.hparams = args.define("summary.hparams", "Writes what a run was made with, by names.", {
  { "hparams", "numbers, texts and booleans by name", keyed = true, type = "table" },
  WRITER,
}, function(o, who)
  local list = {}
  for name, value in pairs(o.hparams) do
    check_text(who, "hparams", args.expect(who, "hparams", name, "string"))
    args.expect(who, name, value, PLAIN)
    if type(value) == "string" then check_text(who, name, value) end
    list[#list + 1] = { name, value }
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  local writer = writer_of(who, check_writer(who, o.writer))
  append(writer, who, event.summary(time(), 0, { event.hparams(list, time()) }))
end)

return summary
