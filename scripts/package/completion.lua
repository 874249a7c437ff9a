-- completion.lua bash|zsh|fish: writes completion for a shell, of the options that the command's
-- own help names. Words after options are Lua files.
local usage = require "scripts.package.usage"

local parts = usage.own()
local names = {}
for _, option in ipairs(usage.names(parts)) do
  if option.name:find "%w" then names[#names + 1] = option end
end

-- What an option does, in some words.
local function brief(option)
  local text = option.text
  local at = text:find(option.name .. ": ", 1, true)
  text = at and "show the version and the build's facts" or text:gsub(" %(.*", "")
  return (text:gsub("[;:] .*", ""):gsub(", as .*", ""))
end

-- What arguments are called that are files or folders.
local FILES = { file = true, script = true, app = true, folder = true, dir = true, path = true }

local function is_file(option)
  return FILES[option.argument and option.argument:match "%w+"]
end

local shells = {}

function shells.bash()
  local words, needing, choosing = {}, {}, {}
  for _, option in ipairs(names) do
    words[#words + 1] = option.name .. (option.argument == "[=file]" and " " .. option.name .. "="
      or "")
    local choices = usage.choices(option.text)
    if option.argument and not option.argument:find "^%[" then
      if choices then
        choosing[#choosing + 1] = ([[
    %s) COMPREPLY=($(compgen -W '%s' -- "$word")); return ;;
]]):format(option.name, choices)
      elseif not is_file(option) then needing[#needing + 1] = option.name
      end
    end
  end
  io.write(([[
# Completion of jfl's options and of Lua files.
_jfl() {
  local IFS=$' \t\n' word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  # bash takes "=" for a word of its own.
  [ "$word" = = ] && word=
  [ "$before" = = ] && { COMPREPLY=($(compgen -f -- "$word")); return; }
  case $before in
%s    %s) return ;;
  esac
  case $word in
    --*=*) COMPREPLY=($(compgen -f -- "${word#*=}")) ;;
    -*) COMPREPLY=($(compgen -W '%s' -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -X '!*.lua' -- "$word") $(compgen -d -- "$word")) ;;
  esac
}
complete -o filenames -F _jfl jfl
]]):format(table.concat(choosing), table.concat(needing, "|"), table.concat(words, " ")))
end

function shells.zsh()
  io.write "#compdef jfl\n_arguments -s \\\n"
  for _, option in ipairs(names) do
    local argument = option.argument or ""
    local word = argument:match "%w+"
    local what = brief(option):gsub("[%[%]:]", "\\%0"):gsub("'", "")
    local choices = usage.choices(option.text)
    local action = choices and ("(%s)"):format(choices) or is_file(option) and "_files" or " "
    local form = option.name
    if argument:find "^%[" then form = form .. (is_file(option) and "=-" or "-") end
    io.write(("  '%s[%s]%s' \\\n"):format(form, what,
      word and (argument:find "^%[" and "::" or ":") .. word .. ":" .. action or ""))
  end
  io.write "  '1:script:_files -g \"*.lua\"' \\\n  '*:argument:_files'\n"
end

function shells.fish()
  io.write "complete -c jfl -x -a '(__fish_complete_suffix .lua)'\n"
  for _, option in ipairs(names) do
    local long, short = option.name:match "^%-%-(%w.*)", option.name:match "^%-(%w)$"
    if long or short then
      local needs = option.argument and not option.argument:find "^%["
      local choices = usage.choices(option.text)
      io.write(("complete -c jfl %s %s%s%s -d '%s'\n"):format(long and "-l" or "-s", long or short,
        needs and " -r" or "", needs and choices and (" -f -a '%s'"):format(choices) or
        needs and not is_file(option) and " -f" or "", (brief(option):gsub("'", "\\'"))))
    end
  end
end

local write = shells[...]
if not write then
  io.stderr:write("completion: the shell must be bash, zsh or fish, got ", tostring((...)), "\n")
  os.exit(2)
end
write()
