-- flow.profile: tells which steps take the time of runs, and how near each is to what the machine
-- can do.
---@flow profile
local args = require "jfl.base.args"
local queue = require "jfl.job.queue"
local core = require "jfl.core"

local profile = {}

local MOST_EVENTS = 1000000     -- steps in a trace file
local MOST_ROWS = 30            -- steps that are printed unless asked otherwise

local HEAD = { "share", "ms/run", "runs", "GFLOP/s", "of peak", "GB/s", "of peak", "op", "kernel",
  "line", "step" }
local LINE = 10                 -- the column of lines, left out where none is known
local LEFT = { op = true, kernel = true, line = true, step = true }

--- The library or technique of a kernel, without the op, which the row names already: "dnnl",
-- "vec".
function profile.family(kernel) return kernel:match("^[^_]+") end

--- A step's node and the user's node that it serves: "matmul_3 for dense1".
function profile.title(row)
  return row.serves and row.name .. " for " .. row.serves or row.name
end

-- A note on Winograd's convolutions, which multiply less often than the direct ones whose
-- operations are counted.
local WINOGRAD = "winograd: what is counted is a direct convolution's work; it needs less, "
  .. "so it may pass 100%\n"

local function rate(work, seconds, scale, peak)
  if work == 0 or seconds == 0 then return "", "" end
  local share = work / seconds / peak
  return ("%.1f"):format(work / seconds / scale), ("%.0f%%"):format(100 * share), share
end

local function cells(row, total, flop_peak, byte_peak)
  local seconds = row.seconds / math.max(row.runs, 1)
  local flop, of_flop = rate(row.flop, seconds, 1e9, flop_peak)
  local bytes, of_bytes, share = rate(row.bytes, seconds, 1e9, byte_peak)
  -- The peak is that of copies in main memory; operands in the caches arrive faster.
  if share and share > 1 then of_bytes = "cached" end
  return { ("%.1f%%"):format(100 * row.seconds / total), ("%.4f"):format(seconds * 1e3),
    tostring(row.runs), flop, of_flop, bytes, of_bytes, row.op, profile.family(row.kernel),
    row.line or "", row.job .. ": " .. profile.title(row) }
end

local function widths_of(lines)
  local widths = {}
  for _, line in ipairs(lines) do
    for i, cell in ipairs(line) do widths[i] = math.max(widths[i] or 0, #cell) end
  end
  return widths
end

local function text_of(lines)
  local widths, out = widths_of(lines), {}
  for _, line in ipairs(lines) do
    local padded = {}
    for i, cell in ipairs(line) do
      local rest = (" "):rep(widths[i] - #cell)        -- string.format pads to at most 99
      padded[i] = LEFT[lines[1][i]] and cell .. rest or rest .. cell
    end
    out[#out + 1] = table.concat(padded, "  "):gsub("%s+$", "")
  end
  return table.concat(out, "\n")
end

-- Where several devices worked, the time of the steps of each.
local function by_device(rows, total)
  local seconds, names = {}, {}
  for _, row in ipairs(rows) do
    local device = row.device or ""
    if not seconds[device] then names[#names + 1] = device end
    seconds[device] = (seconds[device] or 0) + row.seconds
  end
  if #names < 2 then return "" end
  table.sort(names)
  for i, name in ipairs(names) do
    names[i] = ("\non %s: %.1f ms, %.0f%%"):format(name, seconds[name] * 1e3,
      100 * seconds[name] / total)
  end
  return table.concat(names)
end

--- The rows of a profile as a table in text, the longest first.
function profile.text(rows, most)
  local total, threads = 0, core.get("threads")
  for _, row in ipairs(rows) do total = total + row.seconds end
  if total == 0 then return "profile: no job ran" end
  local flop_peak, byte_peak = core.machine_peak(threads)
  local lines, note, known = { { unpack(HEAD) } }, "", false
  for i = 1, math.min(most, #rows) do
    lines[i + 1] = cells(rows[i], total, flop_peak, byte_peak)
    known = known or rows[i].line
    if profile.family(rows[i].kernel) == "winograd" then note = WINOGRAD end
  end
  for _, line in ipairs(known and {} or lines) do table.remove(line, LINE) end
  local more = #rows > most and ("\n%d more steps"):format(#rows - most) or ""
  local sum = "%.1f ms in all steps; %d threads can do %.0f GFLOP/s in registers and copy %.1f GB/s"
  return text_of(lines) .. more .. "\n" .. note ..
    sum:format(total * 1e3, threads, flop_peak / 1e9, byte_peak / 1e9) .. by_device(rows, total)
end

-- ---- several ranks ----

local SLOW = 0.15               -- the share of the others' time that they wait for a slow rank

-- Seconds are told as texts of one length, since all ranks must give as many bytes.
local TOLD = "%20.9f %20.9f"

--- What is said of several ranks: a line for each with its host, the seconds that it computed and
-- those that it waited; and which of them the others wait for, if one is slow. All go at the pace
-- of the slowest one, which therefore waits least, whether its jobs or its script take so long.
function profile.ranks_text(ranks)
  local lines, slow, waits, all = {}, 1, 0, 0
  for i, r in ipairs(ranks) do
    lines[i] = ("rank %d (%s): computed %.1f ms, waited for others or for data %.1f ms"):format(
      i - 1, r.host, r.computed * 1e3, r.waited * 1e3)
    if r.waited < ranks[slow].waited then slow = i end
  end
  for i, r in ipairs(ranks) do
    if i ~= slow then
      waits = waits + (r.waited - ranks[slow].waited) / (#ranks - 1)
      all = all + (r.waited + r.computed) / (#ranks - 1)
    end
  end
  if waits > SLOW * all then
    lines[#lines + 1] = ("rank %d (%s) is slow: the others waited %.1f ms for it"):format(slow - 1,
      ranks[slow].host, waits * 1e3)
  end
  return table.concat(lines, "\n")
end

-- All ranks call this, and all get the text; nil where there is one, or nothing was done together.
local function compare(computed, waited)
  local _, size = core.world()
  if size == 1 or core.world_trouble() then return nil end
  local ranks, together = core.world_gather(TOLD:format(computed, waited)), 0
  for i, text in ipairs(ranks) do
    local c, w = text:match("(%S+) +(%S+)")
    ranks[i] = { host = core.world_host(i - 1), computed = tonumber(c), waited = tonumber(w) }
    together = together + c + w
  end
  return together > 0 and profile.ranks_text(ranks) or nil
end

-- ---- profiles ----

-- Rows of sessions that were cleared since the profile began; nil while no profile is made.
local earlier

-- The seconds that this rank computed and waited in jobs of several, in those sessions.
local computed, waited = 0, 0

--- Begins a profile, which finish() ends. trace: the file that finish will write; if it cannot be
-- written, this fails now, before the work.
function profile.start(trace)
  if trace then
    core.output_drop(core.output_open(trace, "profile"))
  end
  queue.sync()
  core.profile_start(MOST_EVENTS)
  earlier, computed, waited = {}, 0, 0
end

-- The rows of all runs, including those before the session was cleared, and the error that kept the
-- trace from being written. A trace covers the last session only. Each rank writes one of its own.
local function stop(trace)
  local rows, rank = earlier, trace and core.world() or 0
  if rank > 0 then trace = trace .. "." .. rank end
  earlier = nil
  local last, err, own, others = core.profile_stop(trace)
  computed, waited = computed + own, waited + others
  for _, row in ipairs(last) do rows[#rows + 1] = row end
  return rows, err
end

--- What the ranks say of each other's pace, after finish(); all call it. nil: there is one.
function profile.compare()
  local ok, text = pcall(compare, computed, waited)
  return ok and text or nil
end

--- Ends a profile and returns its rows, the longest first; trace: a file for a Chrome trace, or
-- nil. If calls fail or the trace cannot be written, the rows are returned all the same, with false
-- and a message.
function profile.finish(trace)
  local ok, err = pcall(queue.sync)
  local rows, unwritten = stop(trace)
  table.sort(rows, function(a, b) return a.seconds > b.seconds end)
  if ok and unwritten then ok, err = pcall(core.fail, "%s", unwritten) end
  return rows, ok, err
end

--- Calls reset, which ends the session, and lets a profile go on in the next session.
function profile.across(reset)
  local rows = earlier and stop()
  reset()
  if not rows then return end
  core.profile_start(MOST_EVENTS)
  earlier = rows
end

--- Begins a profile of the whole program, printed when that ends by os.exit. Returns a function
-- that prints it for other ends; it is printed once.
function profile.whole(trace)
  profile.start(trace)
  local function report()
    queue.last = nil
    local rows, ok, err = profile.finish(trace)
    print(profile.text(rows, MOST_ROWS))
    local ranks = profile.compare()
    if ranks then print(ranks) end
    if not ok then error(err, 0) end
  end
  queue.last = report
  return function()
    if queue.last == report then report() end
  end
end

--- Runs fn and prints how long the steps of its jobs took, and with several ranks, which all call
-- it, how long each computed and waited, and which one the others wait for. Returns the rows. Each
-- has job, op, name, serves (the node whose gradient it computes, or nil), line (of the body, which
-- asked for it), kernel, device, seconds (of all runs), runs, flop and bytes (of one run).
profile.profile = args.define("profile", "Runs a function and prints where time went.", {
  { "fn", "a function that runs jobs", type = "function" },
  { "trace", "a file to write, which Perfetto opens; rank 1 writes trace.1", args.none,
    type = "string" },
  { "rows", "how many steps are printed", MOST_ROWS, type = "integer" },
  returns = "ProfileRow[]",
}, function(o)
  local most = args.integer("profile", "rows", o.rows, 1)
  profile.start(o.trace)
  local ran, message = pcall(o.fn)
  local rows, synced, late = profile.finish(o.trace)
  if not ran then error(message, 0) end
  print(profile.text(rows, most))
  local ranks = profile.compare()
  if ranks then print(ranks) end
  if not synced then error(late, 0) end
  return rows
end)

return profile
