-- spills.lua [PARTS [FOLDER]]: compiles sources of kernels by NVIDIA's compiler for sm_80, sm_90,
-- sm_100 and sm_120, and lists those with warnings or spilt registers, which it leaves in
-- build/spills. The sources are those that
-- jobs of all cases of all ops need, fused programs among them, or those in a folder:
-- JFL_EMULATED_SOURCES=FOLDER makes the emulated GPU keep each source that it is given. Two
-- processes take two of so many parts of all pairs of source and architecture; PARTS=2 is all.
local ffi = require "ffi"
local kernels = require "scripts.doc.kernels"

ffi.cdef [[
typedef struct nvrtc_program nvrtc_program;
int nvrtcCreateProgram(nvrtc_program **out, const char *text, const char *name, int n_header,
                       const char *const *header, const char *const *header_name);
int nvrtcDestroyProgram(nvrtc_program **p);
int nvrtcCompileProgram(nvrtc_program *p, int n_option, const char *const *option);
int nvrtcGetProgramLogSize(nvrtc_program *p, size_t *size);
int nvrtcGetProgramLog(nvrtc_program *p, char *to);
]]

local function open()
  for version = 13, 12, -1 do
    local ok, nvrtc = pcall(ffi.load, ("libnvrtc.so.%d"):format(version))
    if ok then return nvrtc end
  end
end

local nvrtc = open()
if not nvrtc then
  print("left out: NVRTC is not installed")
  return
end

-- Bytes that may be spilt: around the call of a function of NVIDIA's, such as what sin does with
-- large numbers of float64, the compiler saves a number or two.
local MOST = 8

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

--- What the compiler says of a source; nil as second result if it refuses it.
local function compile(text, arch)
  local program, size = ffi.new "nvrtc_program *[1]", ffi.new "size_t[1]"
  assert(nvrtc.nvrtcCreateProgram(program, text, "kernel.cu", 0, nil, nil) == 0)
  local target = "--gpu-architecture=sm_" .. arch
  local options = ffi.new("const char *[4]", target, "--std=c++17", "-default-device",
    "--ptxas-options=-v")
  local status = nvrtc.nvrtcCompileProgram(program[0], 4, options)
  nvrtc.nvrtcGetProgramLogSize(program[0], size)
  local log = ffi.new("char[?]", size[0] + 1)
  nvrtc.nvrtcGetProgramLog(program[0], log)
  nvrtc.nvrtcDestroyProgram(program)
  return ffi.string(log), status == 0 or nil
end

--- The lines of what the compiler says that tell of something wrong, each with its kernel.
local function complaints(log)
  local list, kernel = {}, "?"
  for line in log:gmatch "[^\n]+" do
    kernel = line:match "Compiling entry function '([^']+)'" or kernel
    local spilt = line:match "(%d+) bytes spill stores"
    if line:find "warning" or line:find "error" or tonumber(spilt or 0) > MOST then
      list[#list + 1] = ("%s: %s"):format(kernel, (line:gsub("^%s+", "")))
    end
  end
  return list
end

--- ---- the sources ----

local ARCHS = { "80", "90", "100", "120" }
local parts, folder, part = tonumber((...) or 2), (select(2, ...)), (select(3, ...))

local function lines_of(command)
  local list, pipe = {}, assert(io.popen(command))
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local made = not folder and lines_of("mktemp -d")[1]
local function clean_up()
  if made then os.execute(("rm -r '%s'"):format(made)) end
end

if made then
  local answers, wrong = kernels.answers { all = true,
    environment = ("JFL_EMULATED_SOURCES='%s'"):format(made) }
  for _, line in ipairs(answers or {}) do
    if line:find(" ! ", 1, true) then print(line) end
  end
  if not answers then
    clean_up()
    error("what asks for the kernels " .. wrong, 0)
  end
  folder = made
end

--- Compiles a part of all pairs; prints what is wrong and gives how many are well and how many not.
local function check(number)
  local passed, failed = 0, 0
  for i, path in ipairs(lines_of(("ls '%s'/*.cu"):format(folder))) do
    for k, arch in ipairs(ARCHS) do
      if (i + k) % parts == number then
        local log, ok = compile(read(path), arch)
        local list = complaints(log)
        if ok and #list == 0 then
          passed = passed + 1
        else
          failed = failed + 1
          os.execute(("mkdir -p build/spills && cp '%s' build/spills"):format(path))
          print(("%s for sm_%s: %s"):format(path, arch, table.concat(list, "; "):sub(1, 600)))
        end
      end
    end
  end
  return passed, failed
end

if part then
  print(("%d passed, %d failed"):format(check(tonumber(part))))
  return
end
local other = io.popen(("build/jfl scripts/spills.lua %d '%s' 1"):format(parts, folder))
local passed, failed = check(0)
local ended = false
for line in other:lines() do
  local more, worse = line:match "^(%d+) passed, (%d+) failed$"
  if more then ended, passed, failed = true, passed + more, failed + worse else print(line) end
end
other:close()
clean_up()
if not ended then
  print "the second process ended early"
  failed = failed + 1
end
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and passed > 0 and 0 or 1)
