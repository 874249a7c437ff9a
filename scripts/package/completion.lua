-- completion.lua bash|zsh|fish: writes completion for a shell, of the options in src/cmd/options.h.
-- Words after options are Lua files.
local command = debug.getregistry()["jfl.options"]()

-- The options by each of their names: { name =, value = or nil, is_optional =, is_file =, choices =
-- "on off" or nil, brief = what it does in some words }.
local names = {}
for _, option in ipairs(command.options) do
  for name in option.name:gmatch "%-[%w-]*%w" do
    local choices = option.text:match "%((%w+, [%w, ]+)%)$"
    names[#names + 1] = {
      name = name, value = option.value and option.value:match "%w+",
      is_optional = option.is_optional, is_file = option.is_file,
      choices = choices and choices:gsub(",", ""),
      brief = (option.with and option.with .. ": " or "")
        .. option.text:gsub(" %(.*", ""):gsub("[;:] .*", ""),
    }
  end
end

local function needs_value(option) return option.value and not option.is_optional end

local shells = {}

function shells.bash()
  local words, needing, choosing = {}, {}, {}
  for _, option in ipairs(names) do
    words[#words + 1] = option.name
    if option.is_optional and option.is_file then words[#words + 1] = option.name .. "=" end
    if option.choices then
      choosing[#choosing + 1] = ([[
    %s) COMPREPLY=($(compgen -W '%s' -- "$word")); return ;;
]]):format(option.name, option.choices)
    elseif needs_value(option) and not option.is_file then needing[#needing + 1] = option.name
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
    local what = option.brief:gsub("[%[%]:]", "\\%0"):gsub("'", "")
    local action = option.choices and ("(%s)"):format(option.choices) or option.is_file and "_files"
      or " "
    local form = option.name
    if option.is_optional then form = form .. (option.is_file and "=-" or "-") end
    io.write(("  '%s[%s]%s' \\\n"):format(form, what, option.value
      and (option.is_optional and "::" or ":") .. option.value .. ":" .. action or ""))
  end
  io.write "  '1:script:_files -g \"*.lua\"' \\\n  '*:argument:_files'\n"
end

function shells.fish()
  io.write "complete -c jfl -x -a '(__fish_complete_suffix .lua)'\n"
  for _, option in ipairs(names) do
    local long, short = option.name:match "^%-%-(%w.*)", option.name:match "^%-(%w)$"
    local needs = needs_value(option)
    io.write(("complete -c jfl %s %s%s%s -d '%s'\n"):format(long and "-l" or "-s", long or short,
      needs and " -r" or "", option.choices and (" -f -a '%s'"):format(option.choices) or
      needs and not option.is_file and " -f" or "", (option.brief:gsub("'", "\\'"))))
  end
end

local write = shells[...]
if not write then
  io.stderr:write("completion: the shell must be bash, zsh or fish, got ", tostring((...)), "\n")
  os.exit(2)
end
write()
