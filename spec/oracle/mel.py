"""Prints the numbers of spec/lua/data/sounds_spec.lua; run it by hand, with transformers."""
import numpy as np
from transformers import WhisperFeatureExtractor
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

RATE = 16000
t = np.arange(3 * RATE) / RATE
sound = (0.5 * np.sin(2 * np.pi * (200 + 900 * t) * t) + 0.1 * np.cos(2 * np.pi * 3000 * t))
sound = sound.astype(np.float32)


def show(name, values, places):
    print(name, values.shape, "sum", values.sum(dtype=np.float64))
    print([(i, j, float("%.7g" % values[i, j])) for i, j in places])


whisper = WhisperFeatureExtractor()(sound, sampling_rate=RATE, return_tensors="np",
                                    padding="max_length")["input_features"][0]
show("whisper", whisper, [(0, 0), (5, 10), (20, 100), (40, 150), (30, 299), (10, 301), (60, 2999)])
for scale, norm in (("slaney", "slaney"), ("htk", None)):
    bank = mel_filter_bank(201, 40, 50.0, 7600.0, RATE, norm=norm, mel_scale=scale)
    power = spectrogram(sound, window_function(400, "hann"), frame_length=400, hop_length=200,
                        fft_length=400, power=2.0, center=True, pad_mode="reflect",
                        mel_filters=bank)
    show(scale, power, [(0, 0), (3, 5), (10, 60), (20, 100), (39, 240)])
