-- What flow.help says of a word that is no name of flow: where to look, and what there is instead.
local topics = {}

-- Each: the words, what is said.
local LIST = {
  { "initializer initializers xavier glorot he kaiming init weights", [[
  Initializers say what variables start as: flow.truncated_normal(0.1),
  flow.glorot_uniform_initializer() (what layers take if nothing is said),
  flow.kaiming_initializer(shape), flow.constant_initializer(0), flow.zeros_initializer(),
  flow.ones_initializer(), flow.random_normal_initializer(0, 0.02),
  flow.orthogonal_initializer() for recurrent weights, and more that end so.
    flow.layers.dense(x, 10, { kernel_initializer = flow.truncated_normal(0.1) })]] },
  { "optimizer optimizers training trainer minimize backward "
    .. "nesterov amsgrad", [[
  A body trains by flow.optimizer.SGD(0.1, { momentum = 0.9 }):minimize(loss) or
  flow.optimizer.AdamW(0.001, { weight_decay = 0.01 }):minimize(loss); each call of the job is a
  step then. There is no backward() and no step(). flow.help("optimizer") lists the others. Rates
  may follow flow.optimizer.CosineScheduler or a function of the step, gradients may be clipped by
  flow.optimizer.grad_clipping.by_global_norm. SGD takes { nesterov = true }, Adam
  { amsgrad = true }.]] },
  { "accumulate accumulation gradient_accumulation accumulate_gradients", [[
  Each optimizer takes { gradient_accumulation_steps = 4 }: a step of four calls, with the mean of
  their gradients, for a batch that memory does not hold in one piece.
    flow.optimizer.Adam(0.001, { gradient_accumulation_steps = 4 })]] },
  { "loss losses regression contrastive kl_divergence binary_crossentropy focal_loss cost "
    .. "criterion crossentropy mse bce nll kl triplet", [[
  Losses take what the network gives first and give the mean, or with { reduction = "none" } a
  number a sample: flow.nn.cross_entropy(logits, labels) for classes,
  flow.nn.binary_cross_entropy_with_logits(logits, labels) for yes or no, flow.nn.mse_loss,
  flow.nn.l1_loss, flow.nn.huber_loss for numbers, flow.nn.kl_div, flow.nn.triplet_margin_loss,
  flow.ctc_loss and more. OneFlow's names are accepted: flow.nn.MSELoss is flow.nn.mse_loss, and
  flow.nn.sparse_softmax_cross_entropy_with_logits(labels, logits) takes labels first and gives a
  number a sample; optimizer:minimize(loss) divides the gradients by how many there are.]] },
  { "checkpoint checkpoints serialization save saving load loading restore resume", [[
  A model's variables are saved and loaded by net:save("./net") and net:load("./net"), all of a
  session by flow.train.CheckPoint():save("./model") and :load("./model");
  flow.train.SimpleCheckPointManager names checkpoints by time; flow.ndarray.save writes arrays for
  numpy.]] },
  { "gpu cuda nvidia cudnn cublas nvrtc device devices cpu", [[
  flow.scope.placement("gpu", "0:0", fn) puts what fn makes on a GPU; JFL_DEVICE=gpu outside puts
  all there, and flow.config.device() tells where. Without a usable GPU it runs on the CPU after
  one warning that says why, and is an error after flow.config.strict_placement(true). The driver
  and NVRTC are needed; cuBLASLt and cuDNN make it faster. Kernels are compiled at first use and
  kept in ~/.cache/jfl. The guide has a page on it, "On a GPU".]] },
  { "distributed multi_gpu allreduce all_reduce pipeline ddp fsdp data_parallel mpi mpirun "
    .. "torchrun slurm nccl ranks", [[
  After flow.config.gpu_device_num(2), or cpu_device_num(2), the devices share each batch and sum
  their gradients. jfl --ranks 2 script.lua, mpirun, srun or flow.env.machine do it with several
  processes, also on several hosts. flow.scope.placement puts parts of a job on different devices,
  model_distribute = flow.distribute.split(0) splits a layer's weight, and
  config.optimizer_placement_optimization_mode("distributed_split") what an optimizer keeps. The
  guide has a page on it, "Several devices and hosts".]] },
  { "argparse argv getopt command_line cli usage", [[
  flow.arguments "[epochs=3] [file=FILE]" gives what a script was told on its command line, and
  answers --help and what does not fit.]] },
  { "async asynchronous callback callbacks await promise worker", [[
  A job with returns = flow.typing.Callback(flow.typing.Numpy) does not wait:
  job(x)(function(result) ... end) queues a run and goes on. Callbacks run in flow.poll(),
  flow.sync() and at the end of the script, on the script's own thread. flow.cancel(job) takes
  back what has not begun; flow.fd() is for event loops.]] },
  { "thread threads latency realtime cores parallel cpus fork game games love frame frames fps", [[
  flow.config.threads(n) says how many threads compute; it is the number of cores at first, and
  results do not depend on it. flow.config.background(true) is for programs that draw frames: it
  leaves a core alone and takes the lowest priority, and only flow.poll and flow.sync run callbacks;
  flow.config.callback_seconds(s) lets other entries run some. Lua and all callbacks run on one
  thread, a call with a callback on jfl's own. A forked child starts threads of its own.]] },
  { "dtype dtypes type types bool int half long", [[
  Dtypes are flow.float (float32), flow.double (float64), flow.int8, flow.uint8, flow.int32,
  flow.int64; comparisons give int8, as there is no bool. flow.float16 and flow.bfloat16 take 16
  bits in memory and are computed in float32, each result being rounded; variables of them can be
  read but not trained. flow.cast(x, dtype) and a:astype(dtype) convert.]] },
  { "amp autocast gradscaler mixed_precision fp16 bf16", [[
  flow.config.enable_auto_mixed_precision(true), before jobs are defined, lets large products and
  convolutions read bfloat16 where the processor multiplies it; variables stay float32. Scaling of
  losses, which bfloat16 does not need, is an optimizer's option:
  { loss_scale_policy = flow.optimizer.loss_scale.dynamic_loss_scale() }.]] },
  { "array arrays tensor tensors numpy np matrix", [[
  Arrays are NdArrays of flow.ndarray: flow.ndarray.array({ { 1, 2 }, { 3, 4 } }), zeros, ones,
  rand; in the body of a job the values are blobs, which have a shape and no data yet.
  flow.help("ndarray") and flow.help("Blob") list both.]] },
  { "job jobs inference step function graph plan body", [[
  A job is a Lua function that describes a computation, made a plan once and run at each call:
  flow.help("global_function"). Its inputs and results have types of flow.typing; job:graph() and
  job:plan() show it.]] },
  { "layer layers linear fully_connected fc pruning unet vgg vit gan vae autoencoder diffusion "
    .. "hidden_layer classifier pooling module modulelist sequential network model", [[
  flow.layers.dense, flow.layers.conv2d, flow.layers.batch_normalization, flow.layers.lstm,
  flow.layers.multi_head_attention and others make ops together with their variables; activations,
  pooling and dropout are ops of flow.nn. A network is a Lua function that calls them, and
  flow.model("name", network) makes it a model, which owns its variables and gives jobs by
  net:train { ... } and net:predict { ... }.]] },
  { "variable variables parameter parameters weight", [[
  Variables are made by layers or by flow.get_variable(name, shape, { initializer = ... }) in a
  body, and shared by all jobs that use the name; flow.get_all_variables() reads them,
  flow.load_variables{...} sets them, flow.drop_variables("hidden") drops those of a layer.]] },
  { "data dataset text_file dataloader data_loader mini_batch minibatch batch batches mnist "
    .. "shuffle epoch", [[
  flow.data.batches(samples, { batch_size = 32, shuffle = true }) puts single samples together,
  and pictures of flow.data.image_folder; flow.data.load_mnist(100) gives images and labels in
  batches, flow.data.loop(data, { epochs = 10 }) goes through such; both can be resumed.
  flow.zip(a, b) goes through arrays side by side. flow.ndarray.load reads numpy's files.]] },
  { "image images augment segmentation detection picture pictures jpeg jpg png photo "
    .. "imagefolder augmentation transforms", [[
  flow.data.image_folder("photos", { size = 224 }) is a data set of JPEG and PNG files in a folder
  for each class, for flow.data.batches; flow.data.load_image and save_image read and write one,
  decode_image reads the bytes of one. In a body flow.image.random_crop, random_flip, color_jitter,
  random_erasing and normalize change whole batches.]] },
  { "gradient gradients grad backprop backpropagation autograd derivative", [[
  Gradients are taken by optimizer:minimize(loss); flow.watch_diff(x, fn) in the body shows the
  gradient of x at every call.]] },
  { "lr rate lr_finder find_lr learning_rate schedule scheduler warmup lr_find plateau "
    .. "reduce_lr_on_plateau", [[
  A learning rate is a number, a function of the step, or a schedule such as
  flow.optimizer.CosineScheduler(rate, steps, { warmup = flow.optimizer.warmup.linear(100, 0) }).
  optimizer.lr reads it, optimizer:set_lr(rate) sets it between calls. flow.find_rate tries some
  before a training, and flow.fit's reduce_rate lowers it where nothing is gained.]] },
  { "weight_decay decay regularization regularizer regularizers", [[
  flow.optimizer.AdamW(0.001, { weight_decay = 0.01, weight_decay_excludes = { "bias$", "norm" } })
  makes weights smaller at every step, but for variables whose names these regular expressions find.
  flow.layers.dense(x, 10, { kernel_regularizer = flow.regularizers.l2(1e-4) }) adds 1e-4 times one
  layer's weight to its gradient instead; bias_regularizer and flow.get_variable's regularizer are
  alike.]] },
  { "nan inf infinity infinite finite diverge", [[
  A loss that is nan or inf is no error by itself. flow.config.check_finite(true) makes each run
  look for the first value that is not finite, and fail with its name and the step; variables stay
  as they were.]] },
  { "error errors debug debugging pcall", [[
  Errors are Lua errors with the line of the script: pcall catches them, and the session can be
  used on. flow.watch(x, fn) in a body shows a value at every call, flow.config.check_finite(true)
  finds the first that is not finite.]] },
  { "speed performance profile profiler slow fast time benchmark", [[
  flow.profile(function() ... end), or jfl --profile script.lua, tells where the time of jobs
  goes; job:plan() shows the steps and the memory. A job compiles at its first call: job:compile()
  does it before.]] },
  { "memory ram oom activation activations gradient_checkpointing remat rematerialization", [[
  job:plan() tells the memory of a job before it runs, flow.config.memory_limit(bytes) bounds it,
  flow.scope.recompute(fn) computes values again for the gradients instead of keeping them,
  array:free() gives an array's memory back at once.]] },
  { "random seed reproducible deterministic", [[
  flow.random.seed(n) makes all that is drawn the same in every run; flow.ndarray.rand, randn and
  flow.random.uniform, normal draw.]] },
  { "sample sampling policy categorical multinomial temperature top_k top_p nucleus draw", [[
  flow.random.choice(weights) draws classes by how probable they are, for each row of an array:
  flow.random.choice(logits, { logits = true, temperature = 0.8, top_k = 40, top_p = 0.9 }).]] },
  { "plot plots chart tensorboard logging log", [[
  flow.plot draws curves, flow.plot_images pictures, flow.plot_matrix tables; flow.summary writes
  for TensorBoard; flow.progress shows a loop's.]] },
  { "rnn lstm gru lstmcell recurrent", [[
  flow.layers.rnn, flow.layers.lstm and flow.layers.gru go through sequences of one length, with
  the formulas and the names of weights of PyTorch's.]] },
  { "generation kv_cache beam beam_search kvcache past_key_values decode completion sampling", [[
  flow.layers.attention_cache keeps keys and values from call to call, flow.generate continues texts
  by a job that has it.]] },
  { "attention transformer multihead multiheadattention", [[
  flow.layers.multi_head_attention is the layer, flow.nn.scaled_dot_product_attention what it does
  with queries, keys and values, flow.nn.rotary_embedding marks positions.]] },
  { "positional_encoding position positions positional_embedding sinusoidal time_embedding "
    .. "timestep_embedding", [[
  Learned positions are a variable of (length, units) that is added to what flow.layers.embedding
  gives; flow.nn.rotary_embedding turns queries and keys by theirs instead. Sines of a time or
  place t, of (batch, 1), at the frequencies f, of (1, n), are two ops:
    flow.concat({ flow.math.sin(t * f), flow.math.cos(t * f) }, 1)]] },
  { "recommendation recommender matrix_factorization collaborative_filtering", [[
  Each user and each thing has a vector, and their products say how well they go together:
    local u = flow.layers.embedding(users, n_users, 16)
    local v = flow.layers.embedding(things, n_things, 16)
    local score = (u * v):sum(-1)
  examples/wide_and_deep.lua learns who clicks on what.]] },
  { "siamese metric_learning similarity contrastive_loss", [[
  A model, or a layer with a name, may be called twice in a body, and has one set of variables then:
    local a, b = net(x1), net(x2)
    local loss = flow.nn.cosine_embedding_loss(a, b, same)
  flow.nn.triplet_margin_loss compares with one that is alike and one that is not.]] },
  { "batch_norm batchnorm batchnorm1d batchnorm2d normalization layernorm groupnorm", [[
  flow.layers.batch_normalization(x, { axis = 1 }) normalizes channels, (N, C, H, W), and keeps
  their statistics for predict jobs; flow.layers.layer_norm(x, { begin_norm_axis = -1 }) and
  flow.layers.rms_norm the last axis; flow.layers.group_norm and flow.layers.instance_norm channels
  of each sample.]] },
  { "convolution deconvolution dilation dilated stride conv_transpose convtranspose2d depthwise", [[
  flow.layers.conv1d, conv2d and conv3d; flow.layers.conv2d_transpose and its kin make their input
  larger. With as many groups as channels a convolution is depthwise.]] },
  { "ema averaging lookahead swa averagedmodel", [[
  flow.optimizer.Adam(rate, { moving_average = flow.train.ExponentialMovingAverage(0.999) }) keeps
  averages of the variables; the average's use() runs a part of a job with them.]] },
  { "fit epochs early_stopping patience validation training_loop best_model", [[
  flow.fit(net, data, { loss = flow.nn.cross_entropy, optimizer = flow.optimizer.Adam(0.001), epochs
  = 20, validation = test, metrics = { "accuracy" }, patience = 3, keep_best = true }) is the loop
  that trains: it judges each epoch, stops early and sets the best variables at the end.]] },
  { "metric metrics acc recall_score f1_score mean_absolute_error roc confusion_matrix mae "
    .. "evaluate evaluation rmse r2 r2_score perplexity", [[
  flow.metrics.accuracy(predictions, labels), top_k, f1, precision, recall, auc, confusion,
  mean_absolute_error and mean_squared_error take NdArrays or lists; flow.fit takes their
  names. The root of a mean of squares is math.sqrt of it, R2 is 1 - it / y:variance(), a
  perplexity math.exp of a mean cross entropy.]] },
  { "residual skip_connection shortcut", [[
  A body adds what it has: x = x + flow.nn.relu(flow.layers.dense(x, 64)).]] },
  { "audio speech spectrogram wav", [[
  flow.data.sound_folder(path) is a data set of WAV files by class, flow.data.load_sound reads one,
  flow.data.mel makes its mel spectrogram.]] },
  { "onehot", [[
  flow.one_hot(labels, classes) makes rows with a 1 of numbers; losses take the numbers.]] },
  { "time_series forecast forecasting series window windows sliding_window", [[
  Windows of a series are rows: flow.ndarray.stack of x:slice(i, i + n - 1) for each i, and what
  follows as the value to learn. flow.layers.lstm, gru and conv1d take (batch, time, features) or
  channels first; the page "Sequences" tells which.]] },
  { "batch_size", [[
  flow.data.batches(data, { batch_size = 32 }) and flow.fit take it; -1 as the first extent of an
  input lets a job take any.]] },
  { "view permute unsqueeze swapaxes", [[
  x:reshape { 2, -1 } gives another shape, x:transpose(1, 0) the axes in another order,
  x:expand_dims(0) one more and x:squeeze() fewer; arrays and blobs have them alike.]] },
  { "quantize quantized int8_inference", [[
  flow.quantization.quantize stores trained weights in few bits; with { form = "int8", job =
  predict, batches = list } products and convolutions compute with integers. flow.quantization also
  has the ops of training that knows of quantization: scales of values, and values as integers
  would have them. ONNX models with integers run as they are.]] },
  { "top_k topk", [[
  flow.metrics.top_k(scores, labels, 5) is the share of labels among the five highest scores.]] },
  { "label labels class_weight sample_weight imbalance imbalanced oversampling label_smoothing "
    .. "class_weights", [[
  Labels are numbers of classes, int32 from 0. flow.nn.cross_entropy(logits, labels) takes
  label_smoothing, and as weight an array of weights of the classes; with { reduction = "none" } it
  gives a number a sample, which can be multiplied by a weight for each.]] },
  { "overfitting overfit underfitting underfit generalization", [[
  Where the validation's loss grows while that of training falls: flow.fit stops by patience and
  keeps the best; flow.nn.dropout, weight_decay and more varied data help.]] },
  { "gradient_clipping clipping momentum", [[
  Optimizers take { grad_clipping = flow.optimizer.grad_clipping.by_global_norm(1) }, SGD
  { momentum = 0.9 }, which is its default.]] },
  { "cross_entropy", [[
  flow.nn.cross_entropy(logits, labels) is that of classes, and
  flow.nn.binary_cross_entropy_with_logits(logits, labels) that of yes or no.]] },
  { "== equal equality compare comparison comparisons same is_equal array_equal allclose", [[
  Lua lets no operator give an array, so x:eq(y), x:lt(y), x:ge(0) and their like compare elements
  and give 0 or 1: flow.math.equal, flow.math.less and so on. x == y only says whether both are one
  and the same object; whether all elements are equal is x:eq(y):all(), and whether they are near is
  flow.math.abs(x - y):max() < 1e-6.]] },
  { "index indexing mask indices subscript slicing", [[
  a[2] is a row, a[{ 2, { 1, 3 } }] a part: for each axis a number, or { first, last, step } with
  both ends; numbers count from 1, or if negative from the end. a[{ {}, 1 }] = 0 sets a part of an
  array. In a body x[{ ... }] does so with blobs, and gradients go through it. a:take({ 1, 3 })
  picks rows, flow.gather takes places from 0.]] },
  { "dropout_rate", [[
  flow.nn.dropout(x, { rate = 0.5 }) drops that share of the elements where a job trains.]] },
  { "freeze fine_tune transfer adapter tune pretrained fine_tuning finetune transfer_learning", [[
  A model's net:freeze(pattern) keeps variables as they are, as does { trainable = false } of
  flow.get_variable. flow.train.CheckPoint():load(path, { only = "conv" }) loads a part.]] },
  { "split train_test_split holdout kfold k_fold cross_validation cross_val_score", [[
  flow.data.split(set, { 0.8, 0.2, seed = 1, by_class = true }) gives the parts of a data set. For
  k folds split it into k equal parts, and in turn keep one for validation:
    local fifth = { 0.2, 0.2, 0.2, 0.2, 0.2, seed = 1 }
    local folds = { flow.data.split(set, fifth) }]] },
  { "missing standardize standard_scaler minmax scaling normalise csv_missing table outlier", [[
  flow.data.csv(path, { fill = "median", indicators = true }) reads a table with holes. Columns are
  scaled by their own numbers, from the training's part alone: (x - x:mean(0)) / x:std(0).
  The page "Recipes" has a program for a table, which keeps them by notes in its checkpoint.]] },
  { "reinforcement rl dqn replay replay_buffer agent q_learning policy_gradient reinforce", [[
  An agent is a loop of yours that plays, and a train job that learns from what it saw:
  examples/recipes/agent.lua in a page, examples/dqn.lua with replay and a second network that
  follows, examples/love-pong in a game.]] },
  { "hyperparameter hyperparameters grid_search tune_parameters", [[
  A search is a Lua loop around flow.fit: each model has a name of its own, or
  flow.clear_default_session() comes between; run.best.value is what to compare. flow.find_rate
  gives a first learning rate.]] },
  { "server http rest serving deploy serve", [[
  examples/recipes/serve.lua answers by HTTP, examples/server.lua does so in batches,
  examples/nginx-classify within nginx. jfl --bundle makes one executable of script and model.]] },
  { "python pip ctypes c c++ cpp embed ffi pkg_config install docker package", [[
  make install puts the command, the library and jfl.pc for pkg-config in place; src/jfl.h is the C
  interface, which C++ and others use too. pip install scripts/package/python is a module by ctypes:
  import jfl; job = jfl.script("train.lua").job("predict"). The guide's pages are "Installing" and,
  under "Inside other programs", "C programs".]] },
  { "license licence copyright", [[
  jfl has the MIT licence, in the file LICENSE.]] },
  { "wordpiece sentencepiece bpe_tokenizer subword", [[
  flow.text.tokenizer(path) reads tokenizers of others: byte pairs, WordPiece, SentencePiece.
  flow.text.train makes one of texts of yours.]] },
  { "exit quit", [[
  os.exit() ends the program, Ctrl-D the prompt.]] },
}

--- What jfl does not have, and what to use instead.
topics.absent = {
  { "while while_loop scan", [[
  There is no loop in a plan. A Lua loop in a body writes its steps one after another, with the
  same variables by flow.get_variable; flow.layers.rnn, lstm and gru go through a sequence.]] },
  { "keep_prob keep", [[
  flow.nn.dropout takes the rate at which elements are dropped: 1 - keep_prob.]] },
  { "svd pca inverse determinant eigenvalues solve cholesky", [[
  Factors and inverses of matrices are not among the ops; flow.matmul and flow.einsum multiply.]] },
  { "kmeans cluster clustering tsne svm xgboost random_forest", [[
  jfl has neural networks, and nothing that learns without gradients.]] },
  { "lora distillation quantize_aware", [[
  There is no function for it, and it is a few lines: a frozen layer beside two small dense layers
  whose product is added; a loss that compares with what a frozen model gives.]] },
  { "tensordot", [[
  flow.einsum("abc,cd->abd", { x, y }) multiplies and sums over any axes.]] },
  { "eye", [[
  A matrix with 1 on its diagonal is one line for each place:
    flow.one_hot(flow.range(n), n)]] },
  { "eager no_grad requires_grad detach", [[
  Every op runs at once on NdArrays, without gradients. In a body nothing has data yet, and only
  optimizer:minimize takes gradients; flow.stop_gradient(x) lets none through, and
  { trainable = false } keeps a variable as it is.]] },
  { "onnx torchscript pytorch torch keras tensorflow", [[
  flow.onnx.load(path) gives a network in an ONNX file as a model, to predict with and to train;
  flow.onnx.export(job, path) writes a predict job as one. flow.models.load reads the weights of
  Hugging Face's networks and GGUF files.
  jfl reads .safetensors files (flow.checkpoint.load), numpy's .npy and .npz and OneFlow's
  checkpoints, and what PyTorch's save writes. The guide has tables for those who
  come from PyTorch and Keras.]] },
  { "int16 complex complex64 string bool", [[
  There are the dtypes float32, float64, float16, bfloat16, int8, uint8, int32 and int64.]] },
}

local by_word = {}
for _, list in ipairs { LIST, topics.absent } do
  for _, topic in ipairs(list) do
    for word in topic[1]:gmatch("%S+") do by_word[word] = by_word[word] or topic[2] end
  end
end

--- What is said of a word or of words that name one thing together ("learning rate"), or nil. Lines
-- that begin with four blanks are code.
function topics.text(word) return by_word[(word:lower():gsub("[%s-]+", "_"))] end

return topics
