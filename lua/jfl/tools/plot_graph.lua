-- flow.plot_graph: the graph of a job, in the terminal or as an SVG file.
---@flow plot_graph
local args = require "jfl.base.args"
local job_parts = require "jfl.job.parts"
local layers = require "jfl.tools.plot_layers"
local svg = require "jfl.tools.svg"
local text = require "jfl.base.text"

local plotgraph = {}

local WHO = "plot_graph"
local HEIGHT, APART, BETWEEN = 40, 34, 22    -- pixels: of a box, between rows, between boxes
local EDGE = 16                              -- pixels around all boxes
local MOST_NAME = 28                         -- letters of a name
local SMALL, INNER = 5.9, 16                 -- pixels of a small letter; beside a box's text

-- Fill and line of boxes.
local LOOKS = { input = { "#e3f2e6", "#3c8a4e" }, variable = { "#fdf0dc", "#b9770e" },
  op = { "#e4eef8", "#2f6da8" }, result = { "#e4eef8", "#12395f" } }

-- ---- the graph ----

local function type_of(value) return value.dtype .. " " .. args.shape_text(value.shape) end

-- A box for an input or a variable.
local function source_of(kind, value)
  return { kind = kind, name = value.name, about = type_of(value),
    shape = args.shape_text(value.shape), from = {} }
end

-- A box for a node; boxes has that of each value.
local function box_of(node, boxes)
  local first, reads, from = node.outputs[1], {}, {}
  for i, value in ipairs(node.inputs) do reads[i], from[i] = value.name, boxes[value] end
  return { kind = "op", op = node.op, from = from, reads = table.concat(reads, ", "),
    name = first and first.name or node.op, about = first and type_of(first) or "",
    shape = first and args.shape_text(first.shape) }
end

-- The boxes of a job's graph in their order: { kind, name, op, shape, from }.
local function graph_of(job, which)
  local found, graph, boxes = job_parts.of(job, which), {}, {}
  local function add(box, values)
    graph[#graph + 1] = box
    for _, value in ipairs(values) do boxes[value] = box end
  end
  for _, value in ipairs(found.inputs) do add(source_of("input", value), { value }) end
  for _, value in ipairs(found.variables) do add(source_of("variable", value), { value }) end
  for _, node in ipairs(found.nodes) do add(box_of(node, boxes), node.outputs) end
  for _, value in ipairs(found.results) do
    local box = boxes[value]
    box.kind = box.kind == "op" and "result" or box.kind
  end
  return graph
end

-- The nodes without variables that none of the others reads.
local function read_ones(graph)
  local read, list = {}, {}
  for _, node in ipairs(graph) do
    for _, from in ipairs(node.from) do read[from] = true end
  end
  for _, node in ipairs(graph) do
    if node.kind ~= "variable" or read[node] then list[#list + 1] = node end
  end
  return list
end

-- ---- the terminal ----

--- The text that plot_graph prints: a line for each node, with what it reads.
function plotgraph.text(job, which)
  local rows, sizes = {}, { 0, 0, 0 }
  for i, node in ipairs(read_ones(graph_of(job, which))) do
    local row = { node.name, node.op or node.kind, node.about,
      node.reads and "<- " .. node.reads or "" }
    for k = 1, 3 do sizes[k] = math.max(sizes[k], text.width(row[k])) end
    rows[i] = row
  end
  for i, row in ipairs(rows) do
    for k = 1, 3 do row[k] = row[k] .. (" "):rep(sizes[k] - text.width(row[k])) end
    rows[i] = text.line(table.concat(row, "  ")):gsub("%s+$", "")
  end
  return table.concat(rows, "\n") .. "\n"
end

-- ---- the file ----

local function short(s)
  local cut, used = text.cut(s, MOST_NAME)
  return used < text.width(s) and cut .. "…" or cut
end

-- The two lines in a box: what it is, then which and of what shape.
local function lines_of(node)
  local head = node.op or node.kind
  local named = node.name:gsub("_%d+$", "") ~= node.op and short(node.name) or ""
  return head, (named .. " " .. (node.shape or "")):gsub("^ ", "")
end

local function draw_box(out, node)
  local look = LOOKS[node.kind]
  local x, y = node.x - node.width / 2, node.y
  out:add('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="6" fill="%s" stroke="%s"%s/>', x, y,
    node.width, HEIGHT, look[1], look[2], node.kind == "result" and ' stroke-width="2.5"' or "")
  local head, about = lines_of(node)
  out:label(node.x, y + (about == "" and 24 or 17), "middle", head, ' font-weight="bold"')
  out:label(node.x, y + 32, "middle", about, ' font-size="10.5"')
end

-- A line from box to box through the points between them.
local function draw_edge(out, points)
  local parts = { ("M%.1f %.1f"):format(points[1].x, points[1].y + HEIGHT) }
  for i = 2, #points do
    local a, b = points[i - 1], points[i]
    local y0 = a.y + (a.width and HEIGHT or HEIGHT / 2)
    local y1 = b.y + (b.width and 0 or HEIGHT / 2) - (b.width and 6 or 0)
    local middle = (y0 + y1) / 2
    parts[i] = ("C%.1f %.1f %.1f %.1f %.1f %.1f"):format(a.x, middle, b.x, middle, b.x, y1)
  end
  local last = points[#points]
  out:add('<path d="%s" fill="none" stroke="#7a8590" stroke-width="1.3"/>', table.concat(parts))
  out:add('<path d="M%.1f %.1fl-4 -7h8z" fill="#7a8590"/>', last.x, last.y)
end

local function drawing(job, which)
  local nodes = read_ones(graph_of(job, which))
  for _, node in ipairs(nodes) do
    local head, about = lines_of(node)
    node.width = INNER + math.max(text.width(head) * (svg.letter + 0.6), text.width(about) * SMALL)
  end
  local rows, edges = layers.place(nodes, BETWEEN)
  local left, right = math.huge, -math.huge
  for i, row in ipairs(rows) do
    for _, node in ipairs(row) do
      node.y = EDGE + (i - 1) * (HEIGHT + APART)
      local half = (node.width or 0) / 2
      left, right = math.min(left, node.x - half), math.max(right, node.x + half)
    end
  end
  for _, row in ipairs(rows) do
    for _, node in ipairs(row) do node.x = node.x - left + EDGE end
  end
  local out = svg.new(right - left + 2 * EDGE, #rows * (HEIGHT + APART) - APART + 2 * EDGE,
    "the graph of " .. job.name)
  for _, points in ipairs(edges) do draw_edge(out, points) end
  for _, node in ipairs(nodes) do draw_box(out, node) end
  return out
end

--- Shows the graph of a job: flow.plot_graph(train_job, { svg = "train.svg" }).
plotgraph.plot_graph = args.define(WHO,
  "Shows what a job computes from what: a list in the terminal, or a drawing in a file.",
  {
    { "job", "what flow.global_function gave", type = "Job" },
    { "which", "\"traced\", as the body describes it, or \"optimized\", as it runs", "traced",
      words = { "traced", "optimized" } },
    { "svg", "a file to save the drawing as, instead of printing the list", args.none,
      type = "string" },
  }, function(o)
    local job = job_parts.check(WHO, o.job)
    svg.check_texts(WHO, o, { "svg" })
    if o.svg then return drawing(job, o.which):save(WHO, o.svg) end
    io.write(plotgraph.text(job, o.which))
  end)

return plotgraph
