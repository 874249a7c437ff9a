-- flow.layers: ops together with their variables.
-- The layers are in modules of their own, a family in each; jfl.net.composed lists them.
return {}
