-- Decoding pictures ahead of a loop: keeps the batches that come next in the hands of a loader.
local core = require "jfl.core"
local loop = require "jfl.data.loop"

local ahead = {}

local BATCHES = 2                -- that are decoded before they are asked for
local SPREAD = 2654435761        -- between the seeds of an epoch's samples

-- What a step gives depends on this alone.
local function key_of(step)
  return ("%d %d %d %.0f"):format(step.epoch, step.first, step.last, step.seed)
end

-- Puts the pictures of a step behind those that the loader has.
local function want(self, loader, paths, step)
  local names, seeds = {}, {}
  local base = loop.epoch_seed(self, step.epoch, step.seed)
  for i = step.first, step.last do
    local at = step.order and step.order[i] or i
    names[#names + 1], seeds[#seeds + 1] = paths[at], (base + at * SPREAD) % 2 ^ 53
  end
  core.loader_want(loader, names, seeds)
end

--- What decodes a loop's pictures: take(loop, step) gives the batch of a step, stop() ends the
-- threads.
function ahead.loader(paths, spec, workers)
  local loader, queue = false, {}
  local most = workers > 0 and BATCHES or 0
  local self = {}

  function self.stop()
    if loader then core.loader_close(loader) end
    loader, queue = false, {}
  end

  function self.take(of, step)
    if queue[1] and key_of(queue[1]) ~= key_of(step) then self.stop() end
    loader = loader or core.loader(spec, workers, "data.batches")
    while #queue <= most do
      local coming = step
      if #queue > 0 then coming = loop.following(of, queue[#queue]) end
      if not coming then break end
      want(of, loader, paths, loop.part(of, coming))
      queue[#queue + 1] = coming
    end
    table.remove(queue, 1)
    return core.loader_take(loader, "data.batches")
  end

  return self
end

return ahead
