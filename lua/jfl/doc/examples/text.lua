-- Examples of tokenizers.
return [==[
## text.train
local texts = { "the lower, the better", "the lowest of the low" }
local tokenizer = flow.text.train(texts, { size = 270, special_tokens = { "<end>" } })
local ids = tokenizer:encode("the low<end>")
print(ids[#ids], tokenizer:decode(ids))  --> 0	the low

## Tokenizer:encode, Tokenizer:batch, Tokenizer:decode, Tokenizer:id, Tokenizer:token,
## Tokenizer.size, Tokenizer:save, text.tokenizer
local tokenizer = flow.text.train({ "low lower low" }, { size = 258 })
print(#tokenizer:encode("low"), #tokenizer:encode("lower", { details = true }).tokens)  --> 1	3
print(tokenizer:decode(tokenizer:encode("lower")))                      --> lower
local made = tokenizer:batch({ "lower", "low" })
print(made.ids.shape[2], made.mask[2])                                  --> 3	[1 0 0]
print(tokenizer:id("no token"), tokenizer:token(tokenizer:id("low")))   --> nil	low
tokenizer:save("./tokenizer.json")
print(flow.text.tokenizer("./tokenizer.json").size, tokenizer.size)     --> 258	258

]==]
