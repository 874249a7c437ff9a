-- The class of models: what modules below jfl.net know of them.
return { help = "model", class = "Model" }
