-- What nginx calls: requests in, JSON out.
local batch = require "batch"
local flow = require "jfl"
local network = require "network"

local SIDE, MOST_PICTURES = 28, 256
local GIF, WEBP, IDX = "^GIF8", "^RIFF....WEBP", "^%z%z\8\3"

local classify = {}

local model = {}                 -- what is loaded: its path, its checksum, and when

-- ---- answers ----

local function quoted(text)
  return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

local function send(status, text)
  ngx.status = status
  ngx.header["Content-Type"] = "application/json"
  ngx.header["Content-Length"] = #text + 1
  ngx.say(text)
  return ngx.exit(status)
end

--- Answers with a status and what is wrong.
function classify.refuse(status, message)
  if status == 503 then ngx.header["Retry-After"] = 1 end
  if status == 500 then ngx.log(ngx.ERR, message) end
  return send(status, ('{"error": %s}'):format(quoted(message)))
end

local function described(p)
  local best, list = 1, {}
  for i, name in ipairs(network.NAMES) do
    if p[i] > p[best] then best = i end
    list[i] = ("%s: %.4f"):format(quoted(name), p[i])
  end
  return ('{"label": %s, "probability": %.4f, "all": {%s}}'):format(quoted(network.NAMES[best]),
    p[best], table.concat(list, ", "))
end

-- ---- bodies ----

-- The body, wherever nginx has put it.
local function read_body()
  ngx.req.read_body()
  local body, path = ngx.req.get_body_data(), ngx.req.get_body_file()
  if not path then return body or "" end
  local file = assert(io.open(path, "rb"))
  body = file:read("*a")
  file:close()
  return body
end

-- The mean of the pixels at the edge.
local function edge(picture)
  local p, sum = picture:pointer(), 0
  for i = 0, SIDE - 1 do
    sum = sum + p[i] + p[SIDE * (SIDE - 1) + i] + p[SIDE * i] + p[SIDE * i + SIDE - 1]
  end
  return sum / (4 * SIDE)
end

-- A JPEG or PNG as the network knows pictures: grey, on black.
local function read_picture(body)
  local ok, picture = pcall(flow.data.decode_image, body, { size = SIDE, fit = "stretch",
    channels = 1, dtype = flow.float32 })
  if not ok then return nil, picture:match("bytes: (.*)") or picture end
  return { edge(picture) > 0.5 and 1 - picture or picture }
end

local function number(text, at)
  local a, b, c, d = text:byte(at, at + 3)
  return ((a * 256 + b) * 256 + c) * 256 + d
end

-- A list of pictures as Fashion-MNIST's files have it: four numbers of four bytes, then pixels.
local function read_idx(body)
  if #body < 16 then return nil, "an IDX list must have a head of 16 bytes" end
  local n, height, width = number(body, 5), number(body, 9), number(body, 13)
  if height ~= SIDE or width ~= SIDE or n < 1 or n > MOST_PICTURES then
    return nil, ("an IDX list must hold 1 to %d pictures of %d by %d, got %d of %d by %d"):format(
      MOST_PICTURES, SIDE, SIDE, n, height, width)
  end
  if #body ~= 16 + n * SIDE * SIDE then
    return nil, ("an IDX list of %d pictures must have %d bytes, got %d"):format(n,
      16 + n * SIDE * SIDE, #body)
  end
  local list, at = {}, 16
  for i = 1, n do
    list[i] = flow.ndarray.zeros { SIDE, SIDE }
    local p = list[i]:pointer()
    for k = 0, SIDE * SIDE - 1 do p[k] = body:byte(at + k + 1) / 255 end
    at = at + SIDE * SIDE
  end
  return list
end

-- The pictures of a body; nil, what is wrong and a status.
local function pictures_of(body)
  if body == "" then return nil, "the body must be a picture: PNG, JPEG or an IDX list", 400 end
  if body:find(GIF) or body:find(WEBP) then
    return nil, "the picture must be PNG or JPEG, or an IDX list", 415
  end
  local list, wrong
  if body:find(IDX) then list, wrong = read_idx(body) else list, wrong = read_picture(body) end
  if not list then return nil, wrong, 400 end
  return list, nil, body:find(IDX) ~= nil
end

-- ---- what nginx.conf calls ----

--- POST /classify: a picture is answered with an object, an IDX list with one for each.
function classify.answer()
  if ngx.req.get_method() ~= "POST" then
    ngx.header["Allow"] = "POST"
    return classify.refuse(405, "POST a picture")
  end
  local pictures, wrong, how = pictures_of(read_body())
  if not pictures then return classify.refuse(how, wrong) end
  local answers, failure, status = batch.ask(pictures)
  if not answers then return classify.refuse(status, failure) end
  for i, p in ipairs(answers) do answers[i] = described(p) end
  local counts = ngx.shared.classify
  counts:incr("requests", 1, 0)
  counts:incr("pictures", #answers, 0)
  return send(200, how and ("[%s]"):format(table.concat(answers, ",\n")) or answers[1])
end

--- GET /health: what is loaded, and what was done since nginx started.
function classify.health()
  local counts = ngx.shared.classify
  return send(200, ('{"status": "ok", "model": %s, "checksum": "%s", "loaded": "%s", "worker": %d, '
    .. '"requests": %d, "pictures": %d, "runs": %d, "jfl": %s}'):format(quoted(model.path),
    model.checksum, model.loaded, ngx.worker.pid(), counts:get("requests") or 0,
    counts:get("pictures") or 0, counts:get("runs") or 0, quoted(flow.version)))
end

--- For init_by_lua, before nginx makes its workers: they share the memory of the weights. An error
-- ends a start; at a reload nginx tells of it and goes on as it was.
function classify.load(path)
  batch.load(path)
  local file = assert(io.open(path .. "/model.safetensors", "rb"))
  model = { path = path, checksum = ngx.md5(file:read("*a")), loaded = os.date("!%Y-%m-%dT%TZ") }
  file:close()
end

--- For init_worker_by_lua.
classify.start = batch.warm

return classify
