-- Examples of tokenizers.
return [==[
## text.train
local texts = { "the lower, the better", "the lowest of the low" }
local tokenizer = flow.text.train(texts, { size = 270, special_tokens = { "<end>" } })
local ids = tokenizer:encode("the low<end>")
print(ids[#ids], tokenizer:decode(ids))  --> 0	the low

## text.tokenizer
flow.text.train({ "low lower" }, { size = 258 }):save("./tokenizer.json")
local tokenizer = flow.text.tokenizer("./tokenizer.json")
print(tokenizer:decode(tokenizer:encode("lower")))  --> lower

## Tokenizer:encode
local tokenizer = flow.text.train({ "low lower low" }, { size = 258 })
print(#tokenizer:encode("low"), #tokenizer:encode("lower", { details = true }).tokens)  --> 1	3

## Tokenizer:batch
local tokenizer = flow.text.train({ "low lower low" }, { size = 258 })
local made = tokenizer:batch({ "lower", "low" })
print(made.ids.shape[2], made.mask[2])  --> 3	[1 0 0]

## Tokenizer:decode
local tokenizer = flow.text.train({ "low lower low" }, { size = 258 })
print(tokenizer:decode(tokenizer:encode("lower")))  --> lower

## Tokenizer:id
local tokenizer = flow.text.train({ "low lower low" }, { size = 258 })
print(tokenizer:id("no token"))  --> nil

## Tokenizer:token
local tokenizer = flow.text.train({ "low lower low" }, { size = 258 })
print(tokenizer:token(tokenizer:id("low")))  --> low

## Tokenizer.size
print(flow.text.train({ "low lower low" }, { size = 258 }).size)  --> 258

## Tokenizer:save
flow.text.train({ "low lower low" }, { size = 258 }):save("./tokenizer.json")
print(flow.text.tokenizer("./tokenizer.json"))  --> tokenizer of 258 tokens

]==]
