-- What would break programs that were built with an earlier libjfl is found.
local helper = require "spec.cmd.helper"

local HEADER = io.open("src/jfl.h"):read "*a"

-- What the check says of the header with one text in place of another, and whether it fails.
local function check(from, to)
  local first, last = HEADER:find(from, 1, true)
  assert(first, from)
  local path = helper.file(HEADER:sub(1, first - 1) .. to .. HEADER:sub(last + 1))
  local _, err, status = helper.run("scripts/package/abi.lua", "--header", path)
  return err, status ~= 0
end

describe("the binary interface #cpu", function()
  after_each(helper.clean)

  it("is that which is kept for this version", function()
    local err, failed = check("JFL_API", "JFL_API")
    assert.same({ "", false }, { err, failed })
  end)

  for what, change in pairs {
    ["function jfl_dtype_size: was size_t(jfl_dtype t), is not there"] =
      { "JFL_API size_t jfl_dtype_size(jfl_dtype t);", "" },
    ["function jfl_dtype_size: was size_t(jfl_dtype t), is int(jfl_dtype t)"] =
      { "JFL_API size_t jfl_dtype_size(", "JFL_API int jfl_dtype_size(" },
    ["function jfl_text_free: was void(char*text), is void(void*text)"] =
      { "void jfl_text_free(char *text)", "void jfl_text_free(void *text)" },
    ["constant JFL_TRAIN: was jfl_mode 1, is jfl_mode 0"] =
      { "JFL_PREDICT, JFL_TRAIN", "JFL_TRAIN, JFL_PREDICT" },
    ["constant JFL_RAW: was jfl_deflate 2, is not there"] =
      { "JFL_GZIP, JFL_ZLIB, JFL_RAW", "JFL_GZIP, JFL_ZLIB" },
    ["struct jfl_variable_spec: was size 136, is size 144"] =
      { "JFL_MAXDIM = 8", "JFL_MAXDIM = 9" },
    ["struct jfl_note: was size 16, is size 24"] =
      { "const char *key, *value;", "const char *key, *value; int more;" },
    ["field jfl_param.doc: was const char* at 24, is not there"] =
      { ", *doc; } jfl_param", "; } jfl_param" },
    ["field jfl_allocator.alloc: was void*(*)(void*ud,size_t size) at 0, is void*(*)(void*ud,"
      .. "size_t size) at 8"] =
      { "void *(*alloc)(void *ud, size_t size);",
        "double more;\n  void *(*alloc)(void *ud, size_t size);" },
  } do
    it("breaks: " .. what, function()
      local err, failed = check(change[1], change[2])
      assert.truthy(err:find(what, 1, true), err)
      assert.is_true(failed)
    end)
  end

  it("may grow, which is to be kept", function()
    local err, failed = check("JFL_API const char *jfl_version(void);",
      "JFL_API const char *jfl_version(void);\nJFL_API int jfl_more(void);")
    assert.truthy(err:find("not kept yet: function jfl_more, run build/jfl "
      .. "scripts/package/abi.lua --write", 1, true), err)
    assert.is_true(failed)
  end)

  it("may get fields behind those of a struct that begins with its size", function()
    local err = check("} jfl_script_options;", "  double more;\n} jfl_script_options;")
    assert.falsy(err:find("breaks", 1, true), err)
    assert.truthy(err:find("not kept yet: field jfl_script_options.more", 1, true), err)
  end)

  it("asks for a version that is not kept", function()
    local err, failed = check('#define JFL_VERSION "', '#define JFL_VERSION "99.')
    assert.truthy(err:find("the interface of 99.", 1, true), err)
    assert.is_true(failed)
  end)
end)
