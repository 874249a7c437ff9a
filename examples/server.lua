-- A server that recognises clothes: POST /predict with the 784 bytes of a picture, 28 rows of 28
-- grey pixels, is answered with JSON. Requests that come together are run together.
--
--   jfl examples/server.lua 8080 ./clothes, or luajit with jfl.so on package.cpath
--
-- ./clothes is a checkpoint of the network below, such as the guide's tutorial saves.
-- SIGTERM and SIGINT end it after what has come in is answered; SIGHUP loads the checkpoint again.
local bit = require "bit"
local ffi = require "ffi"
local flow = require "jfl"

local PIXELS = 28 * 28
local SIZES = { 1, 8, 64 }         -- of batches: each has a plan, and fewer pictures are padded
local MOST_HEAD, MOST_CONNECTIONS = 8192, 1000
local NAMES = { [0] = "T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
  "sneaker", "bag", "boot" }

-- ---- the model, and the job that asks it ----

local net = flow.model("clothes", function(images)
  local x = images:reshape { images.shape[1], -1 }
  x = flow.layers.dense(x, 128, { activation = flow.nn.relu, name = "hidden" })
  return flow.layers.dense(x, 10, { name = "output" })
end)
local predict = net:predict { inputs = { flow.float32 { -1, 1, 28, 28 } },
  output = flow.nn.softmax, returns = flow.typing.Callback(flow.typing.Numpy) }

-- ---- the system ----

ffi.cdef [[
struct pollfd { int fd; short events, revents; };
struct sockaddr_in { uint16_t family, port; uint32_t address; char zero[8]; };
typedef struct { unsigned long bits[16]; } jfl_sigset;
int socket(int, int, int); int setsockopt(int, int, int, const void *, uint32_t);
int bind(int, const void *, uint32_t); int listen(int, int);
int accept4(int, void *, uint32_t *, int); int getsockname(int, void *, uint32_t *);
long recv(int, void *, size_t, int); long send(int, const void *, size_t, int);
long read(int, void *, size_t); int close(int);
int poll(struct pollfd *, unsigned long, int);
int sigemptyset(jfl_sigset *); int sigaddset(jfl_sigset *, int);
int sigprocmask(int, const jfl_sigset *, jfl_sigset *); int signalfd(int, const jfl_sigset *, int);
char *strerror(int);
]]
local C = ffi.C
local POLLIN, POLLOUT = 1, 4
local NONBLOCK, CLOEXEC, NOSIGNAL = 0x800, 0x80000, 0x4000
local SIGHUP, SIGINT, SIGTERM = 1, 2, 15
local EAGAIN = 11

local function must(what, result)
  if result < 0 then error(what .. ": " .. ffi.string(C.strerror(ffi.errno())), 0) end
  return result
end

-- A descriptor that tells of signals, which interrupt nothing then. Threads that are made later
-- block them too.
local function signals(...)
  local set = ffi.new("jfl_sigset")
  C.sigemptyset(set)
  for _, number in ipairs { ... } do C.sigaddset(set, number) end
  must("sigprocmask", C.sigprocmask(0, set, nil))
  return must("signalfd", C.signalfd(-1, set, bit.bor(NONBLOCK, CLOEXEC)))
end

-- A socket that listens on 127.0.0.1, and its port; 0 chooses a free one.
local function listen(port)
  local fd = must("socket", C.socket(2, bit.bor(1, NONBLOCK, CLOEXEC), 0))
  C.setsockopt(fd, 1, 2, ffi.new("int[1]", 1), 4)                  -- SO_REUSEADDR
  local at, size = ffi.new("struct sockaddr_in"), ffi.new("uint32_t[1]", 16)
  local function swapped(n) return bit.bor(bit.lshift(n % 256, 8), math.floor(n / 256)) end
  at.family, at.port, at.address = 2, swapped(port), 0x0100007f
  must("bind", C.bind(fd, at, 16))
  must("listen", C.listen(fd, 128))
  C.getsockname(fd, at, size)
  return fd, swapped(at.port)
end

-- ---- connections ----

local connections, waiting = {}, {}      -- by descriptor; { connection, pixels } in their order
local running, stopping = false, false

local function close(connection)
  if connections[connection.fd] ~= connection then return end
  connections[connection.fd] = nil
  C.close(connection.fd)
end

local function flush(connection)
  local n = tonumber(C.send(connection.fd, connection.output, #connection.output, NOSIGNAL))
  if n < 0 and ffi.errno() ~= EAGAIN then return close(connection) end
  connection.output = connection.output:sub(math.max(n, 0) + 1)
  if connection.output == "" then close(connection) end
end

local function answer(connection, status, text)
  connection.output = ("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    .. "Connection: close\r\n\r\n%s"):format(status, #text, text)
  if connections[connection.fd] == connection then flush(connection) end
end

-- Answers what is wrong with a request at once, and puts a good one in the list.
local function take(connection)
  local head, body = connection.input:match("^(.-\r\n)\r\n(.*)$")
  if not head then
    if #connection.input > MOST_HEAD then answer(connection, "431 Too Large", "{}") end
    return
  end
  local method, path = head:match("^(%u+) (%S+) HTTP/1%.[01]\r\n")
  if path ~= "/predict" then
    return answer(connection, "404 Not Found", '{"error": "there is /predict alone"}')
  end
  local size = tonumber(head:lower():match("\ncontent%-length:%s*(%d+)\r"))
  if method ~= "POST" or size ~= PIXELS then
    return answer(connection, "400 Bad Request",
      ('{"error": "POST the %d bytes of a picture"}'):format(PIXELS))
  end
  if #body < size then return end
  connection.taken = true
  waiting[#waiting + 1] = { connection = connection, pixels = body }
end

local buffer = ffi.new("char[65536]")

local function receive(connection)
  local n = tonumber(C.recv(connection.fd, buffer, 65536, 0))
  if n == 0 or n < 0 and ffi.errno() ~= EAGAIN then return close(connection) end
  if n < 0 or connection.taken or connection.output then return end
  connection.input = connection.input .. ffi.string(buffer, n)
  take(connection)
end

local function accept(listener)
  local fd = C.accept4(listener, nil, nil, bit.bor(NONBLOCK, CLOEXEC))
  if fd >= 0 then connections[fd] = { fd = fd, input = "" } end
end

-- ---- predictions ----

local function pictures_of(batch)
  local size = SIZES[#SIZES]
  for i = #SIZES, 1, -1 do size = #batch <= SIZES[i] and SIZES[i] or size end
  local images = flow.ndarray.zeros({ size, 1, 28, 28 })
  local p = images:pointer()
  for k, each in ipairs(batch) do
    for i = 0, PIXELS - 1 do p[(k - 1) * PIXELS + i] = each.pixels:byte(i + 1) / 255 end
  end
  return images
end

-- Runs what waits, unless a run is out: what comes meanwhile waits, and is the next batch.
local function run_waiting()
  if running or #waiting == 0 then return end
  local batch = {}
  while #waiting > 0 and #batch < SIZES[#SIZES] do
    batch[#batch + 1] = table.remove(waiting, 1)
  end
  running = true
  predict(pictures_of(batch))(function(probabilities)
    running = false
    for k, each in ipairs(batch) do
      local label = probabilities[k]:argmax()
      answer(each.connection, "200 OK", ('{"label": "%s", "probability": %.4f, "batch": %d}')
        :format(NAMES[label], probabilities[k][label + 1], #batch))
    end
  end, function(message)
    running = false
    io.stderr:write("server: ", message, "\n")
    for _, each in ipairs(batch) do answer(each.connection, "500 Internal Server Error", "{}") end
  end)
end

local function load(path)
  local ok, message = pcall(function() net:load(path) end)
  io.stderr:write(ok and "server: loaded " .. path or "server: " .. message, "\n")
  return ok
end

-- ---- the loop ----

local function read_signal(fd, path)
  if C.read(fd, buffer, 128) < 128 then return end
  local number = ffi.cast("uint32_t *", buffer)[0]
  if number == SIGHUP then load(path) else stopping = true end
end

-- What to wait for: descriptors, and what to do when they are ready.
local function watched(listener, signal_fd, path)
  local list = { { signal_fd, POLLIN, function() read_signal(signal_fd, path) end },
    { flow.fd(), POLLIN, function() flow.poll(0.005) end } }
  local count = 0
  for fd, connection in pairs(connections) do
    count = count + 1
    local output = connection.output
    list[#list + 1] = { fd, output and POLLOUT or POLLIN,
      function() if output then flush(connection) else receive(connection) end end }
  end
  if not stopping and count < MOST_CONNECTIONS then
    list[#list + 1] = { listener, POLLIN, function() accept(listener) end }
  end
  return list
end

local function step(listener, signal_fd, path)
  local list = watched(listener, signal_fd, path)
  local fds = ffi.new("struct pollfd[?]", #list)
  for i, each in ipairs(list) do fds[i - 1].fd, fds[i - 1].events = each[1], each[2] end
  C.poll(fds, #list, 1000)
  for i, each in ipairs(list) do
    if fds[i - 1].revents ~= 0 then each[3]() end
  end
  run_waiting()
end

local function main(port, path)
  local signal_fd = signals(SIGHUP, SIGINT, SIGTERM)         -- before jfl makes threads
  for _, size in ipairs(SIZES) do predict:compile(size) end  -- not at the first request
  if not load(path) then return 1 end
  local listener
  listener, port = listen(port)
  print(("listening on 127.0.0.1:%d"):format(port))
  io.stdout:flush()
  while not stopping or running or #waiting > 0 do step(listener, signal_fd, path) end
  return 0
end

local o = flow.arguments "[port=8080] [checkpoint=./clothes]"
os.exit(main(o.port, o.checkpoint))
