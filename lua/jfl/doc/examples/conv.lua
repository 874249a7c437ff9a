-- Examples of convolutions, pools and what makes pictures larger.
return [==[
## nn.conv1d
local signal = nd.array({ { { 1, 3, 6, 10 } } })
local difference = nd.array({ { { -1, 1 } } })  -- (out, in, width)
print(flow.nn.conv1d(signal, difference)[1])  --> [[2. 3. 4.]]

## nn.conv3d
local film = nd.ones({ 1, 1, 2, 3, 3 })
print(flow.nn.conv3d(film, nd.ones({ 1, 1, 2, 3, 3 })):item())  --> 18
]==]
