-- The editor's side: reads buffers in slices, trains while nobody waits, and shows guesses.
local flow = require "jfl"
local model = require "jfl_complete.model"
local api, uv = vim.api, vim.loop

local SLICE = 0.001              -- seconds that one piece of work may take on the editor's thread
local LINES = 100                -- read at once, then the time is looked at
local MOST_LINES = 20000         -- of a buffer: the first ones are read
local PASSES = 20                -- times that each word of a text is learnt after a change

local complete = { error = nil }

local options = {
  path = vim.fn.stdpath("data") .. "/jfl-complete",      -- where it is kept
  ghost = 0.3,                   -- the probability from which a guess is shown; false: never
  count = 12,                    -- guesses in the menu
  accept = "<C-L>",              -- the key that takes what is shown; false: none
}

local space = api.nvim_create_namespace("jfl-complete")
local texts = {}                 -- by buffer: { tick, list of words' numbers }
local goal = 0                   -- training goes on until so many steps
local training, paused, closing = false, false, false
local watcher

-- ---- time on the editor's thread ----

-- Of each kind of work: how often it was done, and the milliseconds of all and of the longest.
local times = {
  key = { n = 0, all = 0, most = 0 }, callback = { n = 0, all = 0, most = 0 },
  slice = { n = 0, all = 0, most = 0 },
}

-- Does a piece of the plugin's work. An error ends nothing but that piece.
local function work(kind, f, ...)
  local start, took = uv.hrtime(), times[kind]
  local ok, wrong = pcall(f, ...)
  if not ok then complete.error = wrong end
  local ms = (uv.hrtime() - start) * 1e-6
  took.n, took.all, took.most = took.n + 1, took.all + ms, math.max(took.most, ms)
end

-- libuv tells when a callback is due. It runs on the editor's thread, where the editor's own
-- functions must not be called: what does so is left to vim.schedule.
local function watch()
  watcher = uv.new_poll(flow.fd())
  watcher:start("r", function() work("callback", flow.poll, SLICE) end)
end

-- ---- training ----

-- The words of a buffer, drawn the more often the more there are.
local function draw()
  local drawn, n = nil, 0
  for _, text in pairs(texts) do
    n = n + #text.list
    if math.random() * n < #text.list then drawn = text.list end
  end
  return drawn
end

local function step()
  local text = draw()
  training = text ~= nil and not paused and not closing and model.steps < goal
  if not training then return end
  model.train(text, step, function(message) complete.error, training = message, false end)
end

-- After a change of so many words, which are to be learnt.
local function learn(words)
  goal = math.max(goal, model.steps + math.min(2000, math.ceil(words * PASSES / 64) + 20))
  if not training then step() end
end

-- ---- reading buffers ----

local reading = false            -- whether a slice is scheduled
local queue = {}                 -- { buffer, tick, next line, list }

local function read_slice()
  local job, start = queue[1], uv.hrtime()
  while job and (uv.hrtime() - start) * 1e-9 < SLICE do
    local lines = api.nvim_buf_is_loaded(job.buffer) and job.line < MOST_LINES
      and api.nvim_buf_get_lines(job.buffer, job.line, job.line + LINES, false) or {}
    for _, line in ipairs(lines) do model.read(line:sub(1, 1000), job.list) end
    job.line = job.line + LINES
    if #lines < LINES then
      table.remove(queue, 1)
      texts[job.buffer] = { tick = job.tick, list = job.list }
      learn(#job.list)
      job = queue[1]
    end
  end
  reading = job ~= nil
  if reading then vim.defer_fn(function() work("slice", read_slice) end, 2) end
end

local function is_text(buffer)
  return api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].buflisted
    and vim.bo[buffer].buftype == ""
end

--- Reads a buffer, if it has changed since it was read.
function complete.read(buffer)
  if not is_text(buffer) then return end
  local tick = api.nvim_buf_get_changedtick(buffer)
  if texts[buffer] and texts[buffer].tick == tick then return end
  for _, job in ipairs(queue) do
    if job.buffer == buffer and job.tick == tick then return end
  end
  queue[#queue + 1] = { buffer = buffer, tick = tick, line = 0, list = {} }
  if reading then return end
  reading = true
  vim.schedule(function() work("slice", read_slice) end)
end

-- ---- guesses ----

-- The text before the cursor, with the line above, and the part of a word that is typed.
local function before_cursor()
  local row, column = unpack(api.nvim_win_get_cursor(0))
  local lines = api.nvim_buf_get_lines(0, math.max(row - 2, 0), row, false)
  local line = lines[#lines]
  lines[#lines] = line:sub(1, column)
  local start = lines[#lines]:match("[%w_\128-\255]*$")
  lines[#lines] = lines[#lines]:sub(1, column - #start)
  return table.concat(lines, "\n"), start, column == #line, row, column
end

local asked = 0                  -- the number of the last question: only its answer counts
local guess                      -- what is shown: { word, the part of it that is typed }

local function clear()
  guess, asked = nil, asked + 1
  api.nvim_buf_clear_namespace(0, space, 0, -1)
end

local function show(list, start, row, column)
  local best = list[1]
  if not best or best[2] < options.ghost then return end
  guess = { word = best[1], start = start }
  api.nvim_buf_set_extmark(0, space, row - 1, column, { virt_text_pos = "overlay",
    virt_text = { { best[1]:sub(#start + 1), "Comment" } } })
end

-- At each key: asks for a guess and is done; the answer is shown when it comes.
local function think()
  clear()
  local question = asked
  local text, start, at_end, row, column = before_cursor()
  local hidden = not options.ghost or not at_end or vim.fn.pumvisible() == 1
  if hidden or text:match("^%s*$") then return end
  model.guess(model.context(text), start, 1, function(list)
    vim.schedule(function()
      if question ~= asked or api.nvim_get_mode().mode ~= "i" then return end
      work("key", show, list, start, row, column)
    end)
  end, function(message) complete.error = message end)
end

--- What is left to type of the guess that is shown.
function complete.rest() return guess and guess.word:sub(#guess.start + 1) or "" end

local PATIENCE = 100             -- milliseconds that the menu waits for an answer

--- For 'completefunc' and 'omnifunc'.
function complete.complete(find_start, base)
  local text, start, _, _, column = before_cursor()
  clear()
  if find_start == 1 then return column - #start end
  local words, wrong
  model.guess(model.context(text), base, options.count, function(list)
    words = {}
    for i, each in ipairs(list) do
      words[i] = { word = each[1], menu = ("%.0f %%"):format(100 * each[2]) }
    end
  end, function(message) wrong = message end)
  vim.wait(PATIENCE, function()
    flow.poll(SLICE)
    return words or wrong
  end, 1)
  return words or {}
end

-- ---- commands ----

local function count(list)
  local n, words = 0, 0
  for _, text in pairs(list) do n, words = n + 1, words + #text.list end
  return n, words
end

local function described(kind)
  local took = times[kind]
  return ("%.2f (%.2f)"):format(took.n > 0 and took.all / took.n or 0, took.most)
end

--- What there is to say, in a few lines.
function complete.status()
  local buffers, words = count(texts)
  return ("jfl-complete: %s\n  read: %d buffers, %d words; knows %d different ones\n"
    .. "  trained: %d steps of %d, loss %s\n"
    .. "  ms taken (at most): %s a key, %s a callback, %s a slice of reading\n"
    .. "  kept in %s%s"):format(paused and "paused" or training and "trains" or "waits for changes",
    buffers, words, #model.words, model.steps, goal,
    model.loss and ("%.3f"):format(model.loss) or "unknown", described "key", described "callback",
    described "slice", options.path, complete.error and "\n  error: " .. complete.error or "")
end

local last_saved = 0             -- steps at the last time

--- Saves what was learnt since the last time.
function complete.save()
  if model.steps == last_saved then return end
  model.save(options.path)
  last_saved = model.steps
end

function complete.pause(is_paused)
  paused = is_paused
  if not paused and not training then step() end
end

function complete.forget()
  goal, queue = 0, {}            -- so that no step follows the one that flow.sync waits for
  flow.sync()
  model.forget()
  texts, last_saved = {}, -1
  for _, buffer in ipairs(api.nvim_list_bufs()) do complete.read(buffer) end
end

-- What is kept is replaced by the next save; what cannot be read is put aside.
local function restore()
  if vim.fn.isdirectory(options.path) == 0 then return end
  local ok, wrong = pcall(model.restore, options.path)
  if ok then return end
  complete.error = wrong
  assert(os.rename(options.path, ("%s.unread-%d"):format(options.path, os.time())))
end

local function leave()
  closing = true
  local ok, wrong = pcall(function()
    flow.sync()
    complete.save()
  end)
  if not ok then vim.notify("jfl-complete: " .. wrong, vim.log.levels.ERROR) end
  if watcher then watcher:close() end
end

local function on(events, f)
  api.nvim_create_autocmd(events, { group = "jfl-complete", callback = f })
end

--- Begins. given: options, which doc/jfl_complete.txt explains.
function complete.setup(given)
  for name, value in pairs(given or {}) do
    if options[name] == nil then error("jfl-complete: there is no option '" .. name .. "'", 2) end
    options[name] = value
  end
  if options.accept then
    vim.keymap.set("i", options.accept, "<Plug>(jfl-accept)", { remap = true })
  end
  vim.fn.mkdir(vim.fn.fnamemodify(options.path, ":h"), "p")
  model.wake()
  restore()
  watch()
  api.nvim_create_augroup("jfl-complete", {})
  on({ "TextChangedI", "CursorMovedI", "InsertEnter" }, function() work("key", think) end)
  on("InsertLeave", clear)
  on({ "BufEnter", "BufWritePost", "InsertLeave", "CursorHold", "CursorHoldI" }, function(o)
    work("slice", complete.read, o.buf)
  end)
  on("BufUnload", function(o) texts[o.buf] = nil end)
  on("VimLeavePre", leave)
  for _, buffer in ipairs(api.nvim_list_bufs()) do complete.read(buffer) end
end

return complete
