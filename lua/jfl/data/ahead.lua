-- Decoding samples ahead of a loop: keeps the batches that come next in the hands of a loader.
local core = require "jfl.core"
local lazy = require "jfl.data.lazy"
local loop = require "jfl.data.loop"

local ahead = {}

local BATCHES = 2                -- that are decoded before they are asked for
local SPREAD = 2654435761        -- between the seeds of an epoch's samples

-- What a step gives depends on this alone.
local function key_of(step)
  return ("%d %d %d %.0f"):format(step.epoch, step.first, step.last, step.seed)
end

-- Puts the samples of a step behind those that the loader has. An order that goes on without epochs
-- says so: its samples have seeds by their position, others by their number.
local function want(self, loader, column, step)
  local paths, seeds, offsets, sizes = {}, {}, {}, {}
  local base = loop.epoch_seed(self, step.epoch, step.seed)
  for i = step.first, step.last do
    local at, k = step.order and step.order[i] or i, i - step.first + 1
    paths[k], offsets[k], sizes[k] = lazy.place(column, column[at])
    seeds[k] = (base + (self.endless and i or at) * SPREAD) % 2 ^ 53
  end
  core.loader_want(loader, paths, seeds, offsets, sizes)
end

--- What decodes a column of a loop, for `who`: take(loop, step) gives the batch of a step, and why
-- by row what could not be read, or nil; stop() ends the threads.
function ahead.loader(who, column, workers)
  local loader, queue = false, {}
  local about = lazy.of(column)
  local most = workers > 0 and BATCHES or 0
  local self = {}

  function self.stop()
    if loader then core.loader_close(loader) end
    loader, queue = false, {}
  end

  function self.take(of, step)
    if queue[1] and key_of(queue[1]) ~= key_of(step) then self.stop() end
    loader = loader or core.loader(about.spec, workers, who)
    while #queue <= most do
      local coming = step
      if #queue > 0 then coming = loop.following(of, queue[#queue]) end
      if not coming then break end
      want(of, loader, column, loop.part(of, coming))
      queue[#queue + 1] = coming
    end
    table.remove(queue, 1)
    if about.bad == "skip" then return core.loader_take_some(loader, who) end
    return core.loader_take(loader, who)
  end

  return self
end

return ahead
