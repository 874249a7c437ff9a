"""What Hugging Face's tokenizers gives for texts in many scripts, to compare jfl with.

  python3 scripts/oracles/texts/make.py OUT [MEGABYTES] [NAME...]
                        trains tokenizers, writes OUT/NAME.json and OUT/NAME.txt, what they give
  build/jfl spec/text/compare.lua OUT
                        compares jfl with that
  python3 scripts/oracles/texts/make.py --cases spec/text/cases.zip
                        writes the small ones that spec/lua/text/others_spec.lua has

Texts are those of the translations (gettext catalogs) that the machine has, and random characters.
"""
import glob
import gettext
import json
import os
import random
import sys
import unicodedata
import zipfile

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]"
        r"+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
         r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DIGITS = r"\d(?=(?:\d{3})+(?!\d))|(?<=\p{L})\p{N}++|[^(\s|[.,!?。，、])]+"


def catalogs():
    """The translations of the machine, those of a language together."""
    roots = ["/usr/share/locale", "/usr/share/vim"]
    found = sorted(path for root in roots
                   for path in glob.glob(root + "/**/LC_MESSAGES/*.mo", recursive=True))
    random.Random(1).shuffle(found)
    for path in found:
        try:
            with open(path, "rb") as file:
                texts = gettext.GNUTranslations(file)._catalog.values()
        except (OSError, UnicodeDecodeError, ValueError):
            continue
        for text in texts:
            if isinstance(text, str) and text:
                yield text


def is_text(code):
    return not 0xd800 <= code < 0xe000


def strange(rng):
    """Random characters: of all planes, of scripts with marks, of ASCII, spaces, special tokens."""
    kinds = [(0x20, 0x7f), (0xa0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700),
             (0x900, 0xe00), (0x1100, 0x1200), (0x1e00, 0x2070), (0x2070, 0x2400), (0x3000, 0x3200),
             (0xac00, 0xd7a4), (0x1f300, 0x1f700), (0, 0x10000), (0x10000, 0x30000), (0, 0x110000)]
    words = [" ", "  ", "\n", "\r\n", "\t", "'S", "'ſ", "İ", "\u200d", "\ufeff", "▁", "<s>",
             "<mask>",
             "[MASK]", "<|end|>", " added", "ADDED", "0x0A", "<0x0A>", "1234567", "don't", "中文",
             "e\u0301\u0323", "\u1100\u1161\u11a8", "©\u200d", "ﬁ", "①", "\x00", "\x85", "\u3000"]
    out = []
    for _ in range(rng.randrange(1, 40)):
        if rng.random() < 0.3:
            out.append(rng.choice(words))
            continue
        low, high = rng.choice(kinds)
        out.extend(chr(c) for c in (rng.randrange(low, high) for _ in range(rng.randrange(1, 6)))
                   if is_text(c))
    return "".join(out)


def corpus(size):
    texts, total, rng = [], 0, random.Random(7)
    for text in catalogs():
        texts.append(text)
        total += len(text.encode())
        if total > size:
            break
    texts += [strange(rng) for _ in range(max(40, len(texts) // 20))]
    return texts


# ---- tokenizers such as known models have ----

def special(*names):
    return [AddedToken(name, special=True, normalized=False) for name in names]


def byte_level(texts, size, pattern, normalizer=None, **options):
    tok = Tokenizer(models.BPE(**options))
    if normalizer:
        tok.normalizer = normalizer
    if pattern:
        tok.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    else:
        tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special("<|end|>"), show_progress=False))
    return tok


def gpt2(texts, size):
    tok = byte_level(texts, size, None)
    tok.post_processor = processors.ByteLevel(trim_offsets=True)
    tok.add_tokens([AddedToken("added", lstrip=True, single_word=True)])
    return tok


def roberta(texts, size):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special("<s>", "</s>"), show_progress=False))
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    tok.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tok


def llama3(texts, size):
    tok = byte_level(texts, size, GPT4, ignore_merges=True)
    tok.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=False),
        processors.TemplateProcessing(single="<|end|> $A", pair="<|end|> $A <|end|>:1 $B:1",
                                      special_tokens=[("<|end|>", 0)])])
    return tok


def qwen(texts, size):
    return byte_level(texts, size, QWEN, normalizers.NFC())


def o200k(texts, size):
    return byte_level(texts, size, O200K)


def digits(texts, size):
    return byte_level(texts, size, DIGITS)


def llama(texts, size):
    tok = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, limit_alphabet=300, show_progress=False,
        special_tokens=special("<unk>", "<s>", "</s>", *("<0x%02X>" % i for i in range(256)))))
    tok.pre_tokenizer = None
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(),
                                     decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tok.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    tok = json.loads(tok.to_str())
    for added in tok["added_tokens"][3:]:
        added["special"] = False
    tok["added_tokens"] = tok["added_tokens"][:3]
    return Tokenizer.from_str(json.dumps(tok))


def mistral(texts, size):
    """Metaspace in place of normalizers, at the first text alone."""
    tok = json.loads(llama(texts, size).to_str())
    tok["normalizer"] = None
    tok["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first",
                            "split": False}
    return Tokenizer.from_str(json.dumps(tok))


def bert(texts, size, lower=True, strip=None):
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=strip)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    tok.train_from_iterator(texts, trainers.WordPieceTrainer(
        vocab_size=size, limit_alphabet=400, show_progress=False,
        special_tokens=special("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")))
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tok.add_tokens(["added"])
    return tok


def bert_cased(texts, size):
    tok = bert(texts, size, lower=False)
    tok.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tok


def charsmap():
    """A map of SentencePiece, if the machine has a Python with one."""
    path = os.environ.get("CHARSMAP")
    return open(path, "rb").read() if path else None


def unigram(texts, size, steps, fallback=False):
    tok = Tokenizer(models.Unigram())
    tok.normalizer = normalizers.Sequence(steps)
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.decoder = decoders.Metaspace()
    names = ["<unk>", "<s>", "</s>"] + (["<0x%02X>" % i for i in range(256)] if fallback else [])
    signs = set("".join(tok.normalizer.normalize_str(text) for text in texts))
    tok.train_from_iterator(texts, trainers.UnigramTrainer(
        vocab_size=max(size, len(signs) + 100), unk_token="<unk>", show_progress=False,
        special_tokens=special(*names)))
    tok.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B:1 </s>:1", special_tokens=[("</s>", 2)])
    if fallback:
        made = json.loads(tok.to_str())
        made["model"]["byte_fallback"] = True
        made["added_tokens"] = made["added_tokens"][:3]
        return Tokenizer.from_str(json.dumps(made))
    return tok


def t5(texts, size):
    steps = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    return unigram(texts, size, steps)


def small_charsmap():
    """A map with a few keys, of one and of two characters, as SentencePiece lays it out."""
    import base64
    import struct
    pairs = {"ﬁ": "fi", "①": "1", "\u3000": " ", "é": "e\u0301", "e\u0301": "é", "ß": "", "中": "zh",
             "ａ": "a", "½": "1\u20442", "Å": "A\u030a", "\u00ad": ""}
    texts, at = b"", {}
    for key, value in pairs.items():
        at[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    trie = {}
    for key, value in at.items():
        node = trie
        for byte in key:
            node = node.setdefault(byte, {})
        node[None] = value
    units, used = [0] * 4096, {0}

    def place(node, position):
        labels = sorted(k for k in node if k is not None)
        base = 1
        while True:
            spots = [base ^ (0 if k is None else k) for k in node]
            if base ^ position < 1 << 21 and not used.intersection(spots) and (
                    None in node or base not in used):
                break
            base += 1
        used.update(spots)
        used.add(base)
        units[position] |= (base ^ position) << 10
        if None in node:
            units[position] |= 1 << 8
            units[base] = node[None] | 1 << 31
        for k in labels:
            units[base ^ k] = k
        for k in labels:
            place(node[k], base ^ k)
    place(trie, 0)
    units = units[:(max(used) | 255) + 1]
    blob = struct.pack("<I", 4 * len(units)) + struct.pack("<%dI" % len(units), *units) + texts
    return base64.b64encode(blob).decode()


def xlmr(texts, size):
    tok = json.loads(unigram(texts, size, [normalizers.NFKC()]).to_str())
    tok["normalizer"] = {"type": "Sequence", "normalizers": [
        {"type": "Precompiled", "precompiled_charsmap": small_charsmap()},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]}
    tok["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]}
    return Tokenizer.from_str(json.dumps(tok))


def fallback(texts, size):
    return unigram(texts, size, [normalizers.NFKD(), normalizers.StripAccents()], True)


def words(texts, size):
    tok = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tok.normalizer = normalizers.Sequence([normalizers.Strip(), normalizers.NFD(),
                                           normalizers.Lowercase()])
    tok.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.Punctuation("contiguous")])
    tok.train_from_iterator(texts, trainers.WordLevelTrainer(
        vocab_size=size, special_tokens=special("<unk>", "<pad>"), show_progress=False))
    tok.enable_padding(pad_id=1, pad_token="<pad>", direction="left", pad_to_multiple_of=4)
    tok.enable_truncation(24, direction="left")
    return tok


def clip(texts, size):
    """Words that end with a sign, as CLIP and the first GPT have them."""
    tok = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>",
                               continuing_subword_prefix=""))
    tok.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.decoder = decoders.BPEDecoder()
    tok.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, end_of_word_suffix="</w>", limit_alphabet=300, show_progress=False,
        special_tokens=special("<unk>")))
    return tok


KINDS = {"gpt2": gpt2, "roberta": roberta, "llama3": llama3, "qwen": qwen, "o200k": o200k,
         "digits": digits, "llama": llama, "mistral": mistral, "bert": bert,
         "bert_cased": bert_cased, "t5": t5, "xlmr": xlmr, "fallback": fallback, "words": words,
         "clip": clip}


# ---- what they give ----

def places(text, encoding):
    """Offsets in bytes from characters."""
    at = [0]
    for c in text:
        at.append(at[-1] + len(c.encode()))
    return [(at[a], at[b]) for a, b in encoding.offsets]


def quote(text):
    """Control characters and % as %0A."""
    return "".join("%%%02X" % ord(c) if c < " " or c in "%\x7f" else c for c in text)


def results(tok, text, pair=None):
    """A line: the text, the one beside it, ids, places or types with what is special, the text of
    the tokens."""
    e = tok.encode(text, pair)
    more = e.type_ids + e.special_tokens_mask if pair else [n for p in places(text, e) for n in p]
    return "\t".join([quote(text), quote(pair or ""), " ".join(map(str, e.ids)),
                      " ".join(map(str, more)), quote(tok.decode(e.ids))]) + "\n"


def write(folder, names, size, vocabulary):
    texts = corpus(size)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        tok = KINDS[name](texts[:20000], vocabulary)
        tok.save(os.path.join(folder, name + ".json"), pretty=False)
        with open(os.path.join(folder, name + ".txt"), "w") as file:
            for i, text in enumerate(texts):
                pair = texts[i - 1] if i % 50 == 1 else None
                file.write(results(tok, text, pair))
        print(name, tok.get_vocab_size(), len(texts))


def write_cases(path):
    """A zip file of small vocabularies from a few texts, and what they give for those, and for
    random characters that Unicode had before 15, as jfl's tables are of."""
    rng = random.Random(3)
    texts = [text for text in corpus(60000) if len(text) < 200 and len(set(text)) < 60
             and not any(unicodedata.category(c) == "Cn" for c in text)][:600]
    old = [text for text in (strange(rng) for _ in range(400))
           if len(text) < 60 and not any(unicodedata.category(c) == "Cn" for c in text)]
    chosen = rng.sample(texts, 12) + old[:8]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, make in KINDS.items():
            tok = make(texts, 560 if name in ("llama", "mistral", "fallback") else 360)
            lines = [results(tok, text) for text in chosen]
            lines += [results(tok, chosen[i], chosen[i - 1]) for i in (1, 7, 15)]
            for end, text in ((".json", tok.to_str(pretty=False)), (".txt", "".join(lines))):
                out.writestr(zipfile.ZipInfo(name + end), text, zipfile.ZIP_DEFLATED)


if sys.argv[1] == "--cases":
    write_cases(sys.argv[2])
else:
    write(sys.argv[1], sys.argv[3:] and sys.argv[3:] or KINDS,
          float(sys.argv[2]) * 1e6 if len(sys.argv) > 2 else 3e6, 4000)
