-- A served model: it learns, and answers HTTP: GET /?x=0.3&y=-0.2 gives {"inside": 0.949}. One
-- request at a time, and who connects and says nothing keeps the others waiting for two seconds:
-- enough for a tool of your own. examples/server.lua takes thousands of connections and puts
-- requests together to batches, examples/nginx-classify runs inside nginx.
local ffi = require "ffi"
local flow = require "jfl"

-- Which points are inside of a ring?
flow.random.seed(1)
local points = flow.ndarray.rand { 2000, 2 } * 2 - 1
local distance = flow.math.sqrt((points * points):sum(1))
local inside = (distance:gt(0.3) * distance:lt(0.8)):astype "int32"
local net = flow.model("ring", function(x)
  for _ = 1, 2 do x = flow.layers.dense(x, 32, { activation = flow.nn.relu }) end
  return flow.layers.dense(x, 2)
end)
flow.fit(net, { points, inside }, { loss = flow.nn.cross_entropy, epochs = 20, show = false,
  optimizer = flow.optimizer.Adam(0.01) })
local predict = net:predict { inputs = { flow.float32 { 1, 2 } }, output = flow.nn.softmax }

local function answer(request)
  local x, y = request:match "^GET /%?x=(%-?%d+%.?%d*)&y=(%-?%d+%.?%d*) HTTP"
  if not y then return "400 Bad Request", '{"error": "ask for /?x=0.3&y=-0.2"}' end
  return "200 OK", ('{"inside": %.3f}'):format(predict({ { x + 0, y + 0 } })[1][2])
end

-- ---- a socket of Linux ----

ffi.cdef [[
struct address { uint16_t family, port; uint32_t host; char zero[8]; };
int socket(int, int, int); int setsockopt(int, int, int, const void *, uint32_t); int close(int);
int bind(int, const void *, uint32_t); int listen(int, int); int accept(int, void *, uint32_t *);
int getsockname(int, void *, uint32_t *); uint16_t htons(uint16_t);
long recv(int, void *, size_t, int); long send(int, const void *, size_t, int);
]]
local C, buffer, o = ffi.C, ffi.new "char[4096]", flow.arguments "[port=8080]"
local listener, size = C.socket(2, 1, 0), ffi.new("uint32_t[1]", 16)
local address = ffi.new("struct address", { 2, C.htons(o.port), 0x0100007f })
C.setsockopt(listener, 1, 2, ffi.new("int[1]", 1), 4)   -- free at once when the program has ended
assert(C.bind(listener, address, 16) == 0 and C.listen(listener, 16) == 0, "the port is taken")
C.getsockname(listener, address, size)                                      -- of 127.0.0.1
io.stderr:write(("http://127.0.0.1:%d/?x=0.3&y=-0.2\n"):format(C.htons(address.port)))
while true do
  local connection = C.accept(listener, nil, nil)
  C.setsockopt(connection, 1, 20, ffi.new("long[2]", { 2, 0 }), 16)         -- seconds to ask in
  local n = math.max(0, tonumber(C.recv(connection, buffer, 4096, 0)))
  local status, body = answer(ffi.string(buffer, n))
  local text = ("HTTP/1.0 %s\r\nContent-Type: application/json\r\n\r\n%s"):format(status, body)
  C.send(connection, text, #text, 0x4000)                                  -- without SIGPIPE
  C.close(connection)
end
