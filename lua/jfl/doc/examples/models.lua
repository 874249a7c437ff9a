-- Examples of models.
return [==[
## gguf.read, gguf.save
local net = flow.models.gpt2 { vocab_size = 9, n_embd = 32, n_layer = 1, n_head = 2 }
net:predict { inputs = { flow.int32 { 1, 3 } } }
flow.gguf.save(net, "writer.gguf", { dtype = "q8_0", metadata = { ["general.name"] = "owl" } })
local file = flow.gguf.read("writer.gguf")
print(file.metadata["general.architecture"], #file.tensors)  --> gpt2	16
print(flow.models.load("writer.gguf", { name = "same" }).name)  --> same

## onnx.check, onnx.load
local file = io.open("relu.onnx", "wb")     -- what another program writes
file:write("\8\8:=\10\12\10\1x\18\1y\34\4Relu\18\1gZ\20\10\1x\18\15\10\13\8\1\18\9" ..
  "\10\3\18\1n\10\2\8\3b\20\10\1y\18\15\10\13\8\1\18\9\10\3\18\1n\10\2\8\3B\2\16\17")
file:close()
local report = flow.onnx.check("relu.onnx")
print(report.opset, report.ops.Relu, report.inputs[1].text)  --> 17	1	float32 (n, 3)
local net = flow.onnx.load("relu.onnx")
local relu = net:predict { inputs = { flow.float32 { -1, 3 } } }
print(relu({ { -1, 0, 2 } }))  --> [[0. 0. 2.]]

## models.bert, models.llama, models.whisper
local models = flow.models
local bert = models.bert { vocab_size = 9, hidden_size = 8, num_hidden_layers = 1,
  num_attention_heads = 2, intermediate_size = 16 }
local vectors = bert:predict { inputs = { flow.int32 { -1, 3 }, flow.int32 { -1, 3 } } }
print(#vectors({ { 1, 2, 3 } }, { { 1, 1, 0 } })[1])  --> 3
local llama = models.llama { vocab_size = 9, hidden_size = 8, num_hidden_layers = 1,
  num_attention_heads = 4, num_key_value_heads = 2, intermediate_size = 16 }
local logits = llama:predict { inputs = { flow.int32 { -1, 3 } } }
print(logits({ { 1, 2, 3 } }).shape)                  --> (1, 3, 9)
local whisper = models.whisper { num_mel_bins = 8, d_model = 16, encoder_layers = 1,
  encoder_attention_heads = 2, encoder_ffn_dim = 32, max_source_positions = 50 }
local heard = whisper:predict { inputs = { flow.float32 { -1, 8, 100 } } }
print(heard(nd.ones({ 1, 8, 100 })).shape)            --> (1, 50, 16)

## models.gpt2, models.load
local net = flow.models.gpt2 { vocab_size = 9, n_embd = 8, n_layer = 1, n_head = 2 }
local logits = net:predict { inputs = { flow.int32 { -1, 3 } } }
print(logits({ { 1, 2, 3 } }).shape)  --> (1, 3, 9)
net:save("./writer")
print(flow.models.load("./writer", { name = "same" }).name)  --> same

## models.mobilenet_v2, models.mobilenet_v3, models.resnet, models.vit
local models = flow.models
for _, net in ipairs { models.mobilenet_v2 { depth_multiplier = 0.25, num_labels = 5 },
  models.mobilenet_v3 { variant = "small", width_mult = 0.25, num_labels = 5 },
  models.resnet { embedding_size = 4, hidden_sizes = { 8, 16 }, depths = { 1, 1 }, num_labels = 5 },
  models.vit { image_size = 32, hidden_size = 8, num_hidden_layers = 1, num_attention_heads = 2,
    intermediate_size = 16, num_labels = 5 } } do
  local logits = net:predict { inputs = { flow.float32 { -1, 3, 32, 32 } } }
  print(logits(nd.ones({ 2, 3, 32, 32 })).shape)  --> (2, 5)
end

## Model.name, Model:summary, Model:variables, Model:unfreeze
local net = flow.model("net", function(x) return flow.layers.dense(x, 2) end)
net:predict { inputs = { flow.float32 { 1, 3 } } }
print(net.name, net:variables()["dense_1-bias"])  --> net	[0. 0.]
print(net:summary())
--> model 'net'
--> dense_1-weight  float32 (2, 3)  6
--> dense_1-bias    float32 (2)     2
--> 8 numbers, 8 of them trained
print(net:freeze(""), net:unfreeze("weight"))     --> 2	1

## Model:freeze
local net = flow.model("net", function(x)
  return flow.layers.dense(flow.layers.dense(x, 3, { name = "first" }), 1)
end)
local train = net:train { inputs = { flow.float32 { 4, 2 }, flow.float32 { 4, 1 } },
  loss = flow.nn.mse_loss, optimizer = flow.optimizer.Adam(0.01) }
print(net:freeze("^first"))  --> 2
local before = net:variables()["first-weight"]
train(nd.ones({ 4, 2 }), nd.ones({ 4, 1 }))
print(before:eq(net:variables()["first-weight"]):all())  --> true

## Model:save, Model:load
local function layer(x) return flow.layers.dense(x, 2) end
local a, b = flow.model("a", layer), flow.model("b", layer)
local run_a = a:predict { inputs = { flow.float32 { 1, 3 } } }
local run_b = b:predict { inputs = { flow.float32 { 1, 3 } } }
a:save("./net", { notes = { classes = { "cat", "dog" } } })
print(#b:load("./net").loaded)                         --> 2
local x = { { 1, 2, 3 } }
print(run_a(x):eq(run_b(x)):all())                     --> true
print(flow.checkpoint.get("./net")["dense_1-bias"])    --> [0. 0.]
print(flow.checkpoint.notes("./net").classes[2])       --> dog

## Model:train, Model:evaluate, Model:predict
local net = flow.model("line", function(x) return flow.layers.dense(x, 1) end)
local inputs = { x = flow.float32 { 4, 2 }, y = flow.float32 { 4, 1 } }
local train = net:train { inputs = inputs, loss = flow.nn.mse_loss,
  optimizer = flow.optimizer.SGD(0.2, { momentum = 0 }) }
local judge = net:evaluate { inputs = inputs, loss = flow.nn.mse_loss }
local predict = net:predict { inputs = { flow.float32 { -1, 2 } },
  output = flow.math.round }
local x, y = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }, { { 1 }, { 3 }, { 2 }, { 4 } }
for _ = 1, 500 do train(x, y) end
local loss, values = judge(x, y)
print(("%.3f"):format(loss:item()), predict({ { 1, 1 } }))  --> 0.000	[[4.]]

## model
local net = flow.model("net", function(x)
  x = flow.layers.dense(x, 16, { activation = flow.nn.relu })
  return flow.layers.dense(x, 2)
end)
local train = net:train {
  inputs = { flow.float32 { -1, 3 }, flow.int32 { -1 } },
  loss = flow.nn.cross_entropy,
  optimizer = flow.optimizer.SGD(0.1, { momentum = 0 }),
}
local predict = net:predict { inputs = { flow.float32 { -1, 3 } } }
local x = { { 1, 0, 0 }, { 0, 0, 1 } }
for _ = 1, 200 do train(x, { 1, 0 }) end
print(predict(x):argmax(1))  --> [1 0]

]==]
