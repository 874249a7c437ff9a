-- The most probable continuation of a text, looked for among several at a time.
local call = require "jfl.op.call"
local core = require "jfl.core"
local trace = require "jfl.job.trace"

local beams = {}

local op = call.op

-- How many positions a call gets, of those that are known: a plan is made for each that occurs.
local CHUNKS = { 256, 64, 16, 4, 1 }

--- How many of so many known ids a call reads.
function beams.chunk(known)
  for _, n in ipairs(CHUNKS) do
    if n <= known then return n end
  end
end

-- Reads a prompt into all sequences, and gives what follows its last id.
local function read_prompt(prompt, n_beams, read)
  local at, logits = 0, nil
  while at < #prompt do
    local n, rows = beams.chunk(#prompt - at), {}
    for i = 1, n do
      rows[i] = {}
      for b = 1, n_beams do rows[i][b] = prompt[at + i] end
    end
    at, logits = at + n, read(rows)
    if not logits then return nil end
  end
  return logits
end

-- The best continuations by one id, best first: { beam, id, score }. scores: of each beam so far.
local function best(logits, scores, n)
  return (trace.without_graph(function()
    local classes = logits.shape[2]
    local rows = op.slice(core.cast(logits, "float64"), { 0, 0 }, { #scores, -1 })
    local chances = rows - rows:max(1, true)
    chances = chances - op.log(op.exp(chances):sum(1, true))
      + core.from_table(scores, "float64"):reshape { #scores, 1 }
    local flat = chances:reshape { 1, -1 }
    local found = op.top_k(flat, { k = math.min(n, flat.size) }):reshape { -1 }
    local values = op.gather(flat:reshape { -1 }, found):totable()
    local list = {}
    for i, at in ipairs(found:totable()) do
      list[i] = { beam = math.floor(at / classes) + 1, id = at % classes, score = values[i] }
    end
    return list
  end))
end

--- The ids that follow a prompt. o: { beams, max, length_penalty, cache }; read(ids) gives logits
-- of what follows the ids of each beam, which it appends to the cache, or nil to end the search.
function beams.search(o, prompt, stops, read)
  local live, done = { { ids = {}, score = 0 } }, {}
  local logits = read_prompt(prompt, o.beams, read)
  local function finish(ids, score)
    done[#done + 1] = { ids = ids, score = score / math.max(#ids, 1) ^ o.length_penalty }
    table.sort(done, function(a, b) return a.score > b.score end)
    done[o.beams + 1] = nil
  end
  for length = 1, logits and o.max or 0 do
    local scores, order, rows, next_live = {}, {}, { {} }, {}
    for b, each in ipairs(live) do scores[b] = each.score end
    for _, each in ipairs(best(logits, scores, 2 * o.beams)) do
      local ids = { unpack(live[each.beam].ids) }
      ids[#ids + 1] = each.id
      if stops[each.id] then
        finish(ids, each.score)
      elseif #next_live < o.beams then
        next_live[#next_live + 1] = { ids = ids, score = each.score }
        order[#next_live], rows[1][#next_live] = each.beam, each.id
      end
    end
    live = next_live
    local hope = live[1] and live[1].score / length ^ o.length_penalty
    if not hope or length == o.max or done[o.beams] and done[o.beams].score >= hope then break end
    for b = #order + 1, o.beams do order[b], rows[1][b] = order[1], rows[1][1] end
    o.cache:reorder(order)
    logits = read(rows)
    if not logits then break end
  end
  for _, each in ipairs(live) do finish(each.ids, each.score) end
  return done[1].ids
end

return beams
