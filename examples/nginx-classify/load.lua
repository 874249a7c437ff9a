-- Keeps a server busy and tells how fast it answers.
-- Each connection to 127.0.0.1 posts a file to /classify, waits for the answer and posts
-- again. One that the server closes between two answers, as nginx does at a reload, is opened anew.
local bit = require "bit"
local ffi = require "ffi"
local flow = require "jfl"

ffi.cdef [[
struct pollfd { int fd; short events, revents; };
struct sockaddr_in { uint16_t family, port; uint32_t address; char zero[8]; };
struct timespec { long s, ns; };
int socket(int, int, int); int connect(int, const void *, uint32_t); int close(int);
long recv(int, void *, size_t, int); long send(int, const void *, size_t, int);
int poll(struct pollfd *, unsigned long, int); int clock_gettime(int, struct timespec *);
char *strerror(int);
]]
local C = ffi.C
local POLLIN, NOSIGNAL = 1, 0x4000

local o = flow.arguments "body [connections=16] [seconds=10] [port=8080]"
local file = assert(io.open(o.body, "rb"))
local body = file:read("*a")
file:close()
local connections, seconds, port = o.connections, o.seconds, o.port

local request = ("POST /classify HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s")
  :format(#body, body)

local time = ffi.new("struct timespec")

local function now()
  C.clock_gettime(1, time)
  return tonumber(time.s) + tonumber(time.ns) * 1e-9
end

local function must(what, result)
  if result < 0 then error(what .. ": " .. ffi.string(C.strerror(ffi.errno())), 0) end
  return result
end

local function open()
  local fd, at = must("socket", C.socket(2, 1, 0)), ffi.new("struct sockaddr_in")
  at.family, at.port = 2, bit.bor(bit.lshift(port % 256, 8), math.floor(port / 256))
  at.address = 0x0100007f
  must("connect", C.connect(fd, at, 16))
  return fd
end

local times, statuses, reopened = {}, {}, 0

local function post(c)
  c.input = ""
  if C.send(c.fd, request, #request, NOSIGNAL) < #request then
    C.close(c.fd)
    c.fd, reopened = open(), reopened + 1
    must("send", tonumber(C.send(c.fd, request, #request, NOSIGNAL)))
  end
end

local function begin(c)
  c.start = now()
  post(c)
end

local buffer = ffi.new("char[65536]")

-- Reads what came; true once the answer is whole.
local function answered(c)
  local n = tonumber(C.recv(c.fd, buffer, 65536, 0))
  if n <= 0 then
    if c.input ~= "" then error("the server closed a connection within an answer", 0) end
    C.close(c.fd)
    c.fd, reopened = open(), reopened + 1
    post(c)
    return false
  end
  c.input = c.input .. ffi.string(buffer, n)
  local head, rest = c.input:match("^(.-\r\n)\r\n(.*)$")
  return head and #rest >= tonumber(head:lower():match("content%-length: (%d+)"))
end

local function note(c)
  local status = c.input:match("^HTTP/1.1 (%d+)")
  statuses[status] = (statuses[status] or 0) + 1
  times[#times + 1] = now() - c.start
end

local all, fds = {}, ffi.new("struct pollfd[?]", connections)
local start = now()
for i = 1, connections do
  all[i] = { fd = open() }
  begin(all[i])
end
while now() - start < seconds do
  for i, c in ipairs(all) do fds[i - 1].fd, fds[i - 1].events = c.fd, POLLIN end
  must("poll", C.poll(fds, connections, 1000))
  for i, c in ipairs(all) do
    if fds[i - 1].revents ~= 0 and answered(c) then
      note(c)
      begin(c)
    end
  end
end
local took = now() - start
if #times == 0 then error(("the server gave no answer in %g seconds"):format(seconds), 0) end

table.sort(times)
local function percentile(part) return times[math.ceil(#times * part)] * 1e3 end
local list = {}
for status, n in pairs(statuses) do list[#list + 1] = ("%d with %s"):format(n, status) end
table.sort(list)
print(("%d connections: %.0f requests a second; ms: p50 %.2f, p99 %.2f, most %.2f; %s; "
  .. "%d connections opened anew"):format(connections, #times / took, percentile(0.5),
  percentile(0.99), percentile(1), table.concat(list, ", "), reopened))
