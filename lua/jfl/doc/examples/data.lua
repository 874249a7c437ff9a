-- Examples of data sets and pictures.
return [==[
## data.batches
local x, y = nd.arange(5), nd.array({ 1, 0, 1, 0, 1 }, flow.int32)
for epoch, i, a, b in flow.data.batches({ { "x", x }, { "y", y } }, { batch_size = 2 }) do
  print(i, a, b)  --> 3	[4.]	[1]
end
local squares = function(i) return i, i * i end
for _, i, n, square in flow.data.batches(squares, { n = 4, batch_size = 4 }) do
  print(square)  --> [ 1.  4.  9. 16.]
end

## data.csv
local file = io.open("houses.csv", "w")
file:write("rooms,city,price\n3,Rome,2.5\n4,Oslo,\n2,Rome,1.5\n")
file:close()
local houses = flow.data.csv("houses.csv", { categories = { "city" } })
print(houses.rooms, houses.city, houses.price)  --> [3 4 2]	[0 1 0]	[2.5 nan 1.5]
print(houses.categories.city[2])                --> Oslo
local same = flow.data.csv("houses.csv", { categories = { city = { "Oslo", "Rome" } } })
print(same.city)                                --> [1 0 1]
local features = nd.stack({ houses.rooms:astype("float32"), houses.price }, 1)
print(features.shape[1], features.shape[2])     --> 3	2

## data.folder, data.image_folder, data.pictures
for i, class in ipairs { "cats", "dogs" } do
  os.execute("mkdir -p pets/" .. class)
  flow.data.save_image("pets/" .. class .. "/1.png", nd.full({ 3, 40, 30 }, i / 2))
end
local pets = flow.data.folder("pets", { size = 32, fit = "random", flip = true })
print(pets.classes[2], pets.labels)                    --> dogs	[0 1]
for _, _, images, labels in flow.data.batches(pets, { batch_size = 2, shuffle = true }) do
  print(images.shape[1], images.shape[2], images.dtype)  --> 2	32	uint8
end
pets = flow.data.image_folder("pets", { size = 32, augment = { area = { 0.3, 1 },
  flip = true, brightness = 0.2 }, dtype = flow.float32, mean = { 0.5 }, std = { 0.25 } })
for _, _, images in flow.data.batches(pets, { batch_size = 2, shuffle = true }) do
  print(images.dtype)                                  --> float32
end
local named = { flow.data.pictures({ "pets/cats/1.png", "pets/dogs/1.png" }, 16), { "x", "y" } }
for _, _, images, names in flow.data.batches(named, { batch_size = 2 }) do
  print(images.shape[2], names[2])                     --> 16	y
end

## data.load_sound, data.save_sound, data.resample, data.mel
local tone = flow.math.sin(nd.arange(800) * 0.3)
flow.data.save_sound("tone.wav", tone, 8000)
local sound, rate = flow.data.load_sound("tone.wav", { rate = 16000 })
print(sound.shape, rate)                                                --> (1, 1600)	16000
print(#flow.data.resample(tone, 8000, 4000))                            --> 400
print(flow.data.mel(sound:reshape(1600), 16000, { log = "whisper" }).shape)  --> (80, 10)

## data.sound_folder, data.sounds
for i, class in ipairs { "high", "low" } do
  os.execute("mkdir -p tones/" .. class)
  flow.data.save_sound("tones/" .. class .. "/1.wav", flow.math.sin(nd.arange(1600) / i))
end
local tones = flow.data.sound_folder("tones", { seconds = 0.1, mel = true })
for _, _, sounds, labels in flow.data.batches(tones, { batch_size = 2 }) do
  print(sounds.shape, tones.classes[labels[2] + 1])  --> (2, 80, 10)	low
end
local two = flow.data.sounds({ "tones/low/1.wav", "tones/high/1.wav" }, 0.5)
for _, _, x in flow.data.batches({ two }, { batch_size = 2 }) do
  print(x.shape)                                     --> (2, 1, 8000)
end

## data.webdataset
for i = 0, 2 do
  flow.data.save_image(i .. ".jpg", nd.full({ 3, 20, 20 }, i / 2))
  local file = io.open(i .. ".cls", "w")
  file:write(i)
  file:close()
end
os.execute("tar -cf pets-000.tar 0.jpg 0.cls 1.jpg 1.cls 2.jpg 2.cls")
local pets = flow.data.webdataset("pets-{000..000}.tar", { size = 8, columns = { "jpg", "cls" } })
for _, _, images, classes in flow.data.batches(pets, { batch_size = 3 }) do
  print(images.shape[2], classes)        --> 8	[0 1 2]
end

## data.split
local set = { { "x", nd.arange(10) }, { "labels", nd.arange(10) % 2 } }
local train, test = flow.data.split(set, { 0.8, 0.2, seed = 7, by_class = true })
print(#train.x, #test.x, test.labels:sum())  --> 8	2	1

## data.save_image, data.load_image, data.decode_image
flow.data.save_image("red.png", nd.array({ { { 1 } }, { { 0 } }, { { 0 } } }))
print(flow.data.load_image("red.png"))    --> [[[255   0   0]]]
local large = flow.data.load_image("red.png", { size = 8, dtype = flow.float32 })
print(large.shape[1], large:max())        --> 8	1
local file = io.open("red.png", "rb")
print(flow.data.decode_image(file:read("*a")))  --> [[[255   0   0]]]
file:close()                              -- or the bytes that a server was sent
flow.data.save_image("digits.png", nd.rand({ 20, 1, 28, 28 }), { columns = 5 })
print(flow.data.load_image("digits.png").shape[2])  --> 152

## image.Resize, image.random_erasing
local pixels = nd.arange(16):reshape({ 1, 4, 4, 1 })
print(flow.image.Resize(pixels, { 2, 1 }):reshape({ 2 }))  --> [6.5 8.5]
local x = nd.ones({ 8, 3, 32, 32 })
print(flow.image.random_erasing(x, { probability = 1 }):min())  --> 0

## image.adjust_brightness, image.adjust_contrast, image.adjust_hue, image.adjust_saturation,
## image.color_jitter
local red, x = nd.array({ 1, 0, 0 }):reshape({ 1, 3, 1, 1 }), nd.rand({ 8, 3, 32, 32 })
print(flow.image.adjust_brightness(red, 0.5):max())                  --> 0.5
print(flow.image.adjust_saturation(red, 0):reshape({ 3 }))           --> [0.299 0.299 0.299]
print(flow.image.adjust_hue(red, 1 / 3):get(1, 2, 1, 1) > 0.999)     --> true
local grey = flow.image.adjust_contrast(nd.rand({ 1, 3, 8, 8 }), 0)  -- one of them
print(grey:max() - grey:min() < 1e-6)                                --> true
local y = flow.image.color_jitter(x, { brightness = 0.4, contrast = 0.4,
  saturation = 0.4, hue = 0.1 })
print(y:max() <= 1, y:eq(x):all())                                   --> true	false

## image.center_crop, image.random_crop
print(flow.image.center_crop(nd.arange(9):reshape({ 1, 1, 3, 3 }), 1):item())  --> 4
local x = nd.rand({ 8, 3, 32, 32 })
print(flow.image.random_crop(x, 24).shape[4])                                  --> 24
print(flow.image.random_crop(x, 32, { padding = 4, flip = 0.5 }).shape[4])     --> 32

## image.flip, image.random_flip
local x = nd.arange(3)
print(flow.image.flip(x:reshape({ 1, 1, 3, 1 })):reshape({ 3 }))            --> [2. 1. 0.]
print(flow.image.random_flip(x:reshape({ 1, 1, 1, 3 }), 1):reshape({ 3 }))  --> [2. 1. 0.]

## image.normalize, image.CropMirrorNormalize
local x = nd.array({ { { { 10, 20 } } } })
print(flow.image.normalize(x, { 2, 10 }, { 10, 10 }))  --> [[[[0. 1.]]]]
local pixels = nd.full({ 2, 4, 4, 3 }, 200, flow.uint8)
local mirrored = nd.array({ 1, 0 }, flow.int8)
local y = flow.image.CropMirrorNormalize(pixels, mirrored, { mean = { 124, 117, 104 },
  std = { 58.4, 57.1, 57.4 }, color_space = "RGB" })
print(y.dtype, y.shape)                                --> float32	(2, 3, 4, 4)

]==]
