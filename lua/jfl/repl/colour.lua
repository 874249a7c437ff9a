-- Colours of the session: the sixteen that a terminal's theme makes readable on its background.
local colour = {}

local CODES = { string = "32", number = "36", word = "35", detail = "2", error = "31" }

local on = { stdout = false, stderr = false }

--- Says whether each of the two may get colours.
function colour.allow(stdout, stderr) on.stdout, on.stderr = stdout, stderr end

local function painted(kind, text) return ("\27[%sm%s\27[0m"):format(CODES[kind], text) end

--- A text for stdout as one of these kinds: "string", "number", "word", "detail".
function colour.paint(kind, text) return on.stdout and painted(kind, text) or text end

--- A text for stderr as one of these kinds, or as an "error".
function colour.paint_error(kind, text) return on.stderr and painted(kind, text) or text end

--- How many characters of a painted text are seen.
function colour.length(text) return #text:gsub("\27%[[%d;]*m", "") end

return colour
