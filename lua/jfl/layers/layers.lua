-- flow.layers: ops together with their variables.
---@space layers
-- The layers are in modules of their own, a family in each.
return {}
