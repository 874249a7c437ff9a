"""What Hugging Face's tokenizers gives for texts in many scripts, to compare jfl with.

  python3 scripts/oracles/texts/make.py OUT [MEGABYTES] [NAME...]
                        trains tokenizers, writes OUT/NAME.json and OUT/NAME.txt, what they give
  build/jfl spec/text/compare.lua OUT
                        compares jfl with that
  python3 scripts/oracles/texts/make.py --cases spec/text/cases.txt
                        writes the small ones that tests have

Texts are those of the translations (gettext catalogs) that the machine has, and random characters;
those of tests are sentences below. The cases are as tokenizers 0.22 gives them: 0.23 decodes added
tokens as their normalized text.
"""
import glob
import gettext
import json
import os
import random
import sys

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
    tok.add_tokens(["ADDED"])
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
    tok.train_from_iterator(texts, trainers.UnigramTrainer(
        vocab_size=size, unk_token="<unk>", special_tokens=special(*names), show_progress=False))
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


def short_places(text, encoding):
    """How long each token's place is, "3*5" where five in a row are as long; where one does not
    begin at the end of the last, "at+long"."""
    at, out = 0, []
    for a, b in places(text, encoding):
        if a != at:
            out.append(["%d+%d" % (a, b - a), 1])
        elif out and out[-1][0] == str(b - a):
            out[-1][1] += 1
        else:
            out.append([str(b - a), 1])
        at = b
    return [size if n == 1 else "%s*%d" % (size, n) for size, n in out]


def results(tok, text, pair=None, decodes=True):
    """A line: the text, the one beside it, ids, places or types with what is special, and if asked
    for the text of the tokens, which is = where that is the text."""
    e = tok.encode(text, pair)
    more = e.type_ids + e.special_tokens_mask if pair else short_places(text, e)
    line = [quote(text), quote(pair or ""), " ".join(map(str, e.ids)), " ".join(map(str, more))]
    if decodes:
        decoded = tok.decode(e.ids)
        line.append("=" if decoded == text else quote(decoded))
    return "\t".join(line) + "\n"


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


# ---- the small ones that tests have ----

SENTENCES = [
    "The lowest of the low: newer and wider, it doesn't matter.",
    "I'll say WE'VE 1234567 reasons, don't you? 3.14 × 2 = 6.28!",
    "Größere Häuser, ÉTÉ à la plage; straße, Ångström, İstanbul",
    "  tabs\tand\n\nlines\r\n   ends  ",
    "снова слова, 東京は大きい。中文 and 한국어",
    "שלום مرحبا नमस्ते ก็ดี 👍🏽 👨‍👩‍👧 🇩🇪🇫🇷",
    "e\u0301\u0323 vs ệ ﬁ ① ½ Å ǅ \u1100\u1161\u11a8 각",
    "<s>one</s> [MASK]<mask>  <|end|> added ADDED_ADDED added.",
    "a_b x86_64 --c... $1€ (y) \u200b▁▁z\ufeff\x00\x85\x7f\u3000", ""]


# Both ends of the ranges that normalizers know, and what lies beside them.
RANGES = [(1, 8), (9, 13), (14, 31), (0x7f, 0x9f), (0xa0, 0xad), (0x300, 0x36f), (0x600, 0x605),
          (0x1680, 0x1680), (0x2000, 0x200f), (0x2028, 0x202f), (0x205f, 0x2064), (0x2581, 0x2581),
          (0x3000, 0x3000), (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xac00, 0xd7a3), (0xf900, 0xfaff),
          (0xfe00, 0xfe0f), (0xfeff, 0xfeff), (0xfffd, 0xfffd), (0x20000, 0x2a6df),
          (0x2a700, 0x2b73f), (0x2b740, 0x2b81f), (0x2b920, 0x2ceaf), (0x2f800, 0x2fa1f)]
EDGES = [" ".join(map(chr, (a - 1, a, b, b + 1))) for a, b in RANGES]


def words_of(tok, texts):
    """A tokenizer of the same steps whose words are the pieces of some texts."""
    made = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    pieces = {"?": 0}
    for text in texts:
        text = tok.normalizer.normalize_str(text) if tok.normalizer else text
        for piece, _ in tok.pre_tokenizer.pre_tokenize_str(text):
            pieces.setdefault(piece, len(pieces))
    made.model = models.WordLevel(pieces, unk_token="?")
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if getattr(tok, part):
            setattr(made, part, getattr(tok, part))
    return made


def steps(normalizer=None, splitter=None, framer=None):
    """A tokenizer of these steps that knows the pieces of most sentences."""
    tok = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    if normalizer:
        tok.normalizer = normalizer
    tok.pre_tokenizer = splitter or pre_tokenizers.FixedLength(1)
    if framer:
        tok.post_processor = framer
    return words_of(tok, SENTENCES[1:7] + ["|".join(EDGES)] if normalizer else SENTENCES[1:7])


def normalizing():
    n = normalizers
    kinds = [n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Lowercase(), n.StripAccents(), n.Nmt(),
             n.ByteLevel(), n.Prepend("▁x"), n.Strip(True, False), n.Strip(False, True),
             n.Replace("e", "é"), n.Replace("er", ""),
             n.Replace(Regex(r"\s+|\p{Ll}(?=\p{P})"), "_-"),
             n.Sequence([n.NFKD(), n.StripAccents(), n.Lowercase(), n.Replace(" ", "")])]
    for kind in kinds:
        yield steps(kind)
    for bits in range(0, 16, 3):
        yield steps(n.BertNormalizer(clean_text=bits & 1 > 0, handle_chinese_chars=bits & 2 > 0,
                                     strip_accents=(None, True, False)[bits % 3],
                                     lowercase=bits & 4 > 0))
    yield steps(n.BertNormalizer(strip_accents=False))
    yield steps(n.BertNormalizer(strip_accents=True, lowercase=False))


BEHAVIOURS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def splitting():
    p = pre_tokenizers
    kinds = [p.BertPreTokenizer(), p.Whitespace(), p.WhitespaceSplit(), p.FixedLength(4),
             p.Digits(individual_digits=False), p.Digits(individual_digits=True),
             p.CharDelimiterSplit("e"), p.Sequence([p.Whitespace(), p.FixedLength(3)])]
    kinds += [p.Punctuation(b) for b in BEHAVIOURS]
    kinds += [p.Split(" ", b, invert=False) for b in BEHAVIOURS]
    kinds += [p.Split(Regex(r"\p{L}+"), b, invert=True) for b in BEHAVIOURS]
    kinds += [p.Metaspace("▁", scheme, split) for scheme in ("always", "never", "first")
              for split in (True, False)]
    kinds += [p.ByteLevel(add_prefix_space=a, use_regex=b) for a in (True, False)
              for b in (True, False)]
    for kind in kinds:
        yield steps(None, kind)


PATTERNS = [
    r"e|er|ero", r"(?:lo|l)w", r"(a|b)+", r"[^a-z\s]{2,}", r"\d{3}", r"\d{2,3}", r"\w+?e",
    r"o{0,1}w", r"(?i:WE)", r"(?i)[a-e]+", r"e(?=r)", r"e(?!r)", r"(?<=\s)\S", r"(?<!\s)\S",
    r"(?>\w+)\W", r"\w++.", r"[\p{Lu}\p{Nd}]+", r"\P{L}+", r"\p{^L}{2}", r"[^\W\d_]+",
    r"\x41|\x{4e2d}|\u0301", r"[\x{0400}-\x{04ff}]+", r"\.{2,}", r"\r\n|\n|\t", r".+",
    r"(?:e.)*?r", r"(?:\w\w)+", r"[a\-z]+", r"[]a]+", r"'(?:ll|[sdmt]|ve)|\s+(?!\S)",
    r"(ab?c?){2}", r"(?:s|ss){1,2}a", r"[ſs]", r"(?i:ß|s)+", r"(?:x*y?)z", r"\p{Letter}\p{Mark}*",
    r"\p{M}+"]


def matching():
    for pattern in PATTERNS:
        try:
            tok = steps(None, pre_tokenizers.Split(Regex(pattern), "isolated"))
        except Exception as why:  # what Oniguruma refuses
            print(pattern, why)
            continue
        yield tok


def framing():
    """Special tokens around texts, places that are trimmed, truncation, padding."""
    p, q = pre_tokenizers, processors
    level = p.ByteLevel(add_prefix_space=True)
    for framer in [q.ByteLevel(trim_offsets=True), q.ByteLevel(add_prefix_space=False),
                   q.ByteLevel(trim_offsets=False), q.RobertaProcessing(("?", 0), ("?", 0)),
                   q.RobertaProcessing(("?", 0), ("?", 0), trim_offsets=False),
                   q.BertProcessing(("?", 0), ("?", 0)),
                   q.TemplateProcessing(single="? $A:1 ?:2", pair="? $B:1 ?:3 $A ?:1",
                                        special_tokens=[("?", 0)])]:
        yield steps(None, level, framer)
    for strategy in ("longest_first", "only_first", "only_second"):
        for side in ("left", "right"):
            tok = steps(None, p.Whitespace(), q.BertProcessing(("?", 0), ("?", 0)))
            tok.enable_truncation(9, strategy=strategy, direction=side)
            tok.enable_padding(direction=side, pad_id=1, pad_type_id=2, pad_token="x",
                               length=12 if strategy == "only_first" else None,
                               pad_to_multiple_of=5 if side == "left" else None)
            yield tok


def lifting():
    """Added tokens that take spaces beside them, with places that are trimmed."""
    for trims in (True, False):
        tok = steps(None, pre_tokenizers.ByteLevel(add_prefix_space=trims),
                    processors.ByteLevel(add_prefix_space=trims, trim_offsets=True))
        tok.add_tokens([AddedToken("added", lstrip=True, rstrip=trims),
                        AddedToken("low", rstrip=True)])
        yield tok


def adding():
    for bits in range(0, 16):
        tok = steps(normalizers.Lowercase(), pre_tokenizers.Whitespace())
        tok.add_tokens([AddedToken(text, lstrip=bits & 1 > 0, rstrip=bits & 2 > 0,
                                   single_word=bits & 4 > 0, normalized=bits & 8 > 0)
                        for text in ("ADDED", "add", "<|end|>", "low", "lowest", " ")])
        tok.add_special_tokens([AddedToken("<mask>", lstrip=bits & 2 > 0, normalized=False)])
        yield tok


SYLLABLES = ["a", "b", "c", "d", "e"]


def bytes_of_model():
    return ["<0x%02X>" % i for i in range(256)]


def small_texts():
    rng = random.Random(5)
    return ["".join(rng.choice("aaabbbccde é") for _ in range(rng.randrange(1, 40)))
            for _ in range(14)]


def merging():
    """Byte pairs of five letters, the last of which is not in the vocabulary."""
    rng = random.Random(11)
    for bits in range(12):
        prefix, suffix = ("##", "") if bits % 3 == 1 else ("", "$") if bits % 3 == 2 else ("", "")
        letters = SYLLABLES[:4]
        words = [pre + c + post for c in letters for pre in {"", prefix} for post in {"", suffix}]
        merges, tokens = [], list(words)
        while len(merges) < 24:
            a, b = rng.choice(tokens), rng.choice(tokens)
            if prefix and not b.startswith(prefix) or suffix and a.endswith(suffix):
                continue
            made = a + b[len(prefix):]
            if (a, b) not in merges and len(made) < 8:
                merges.append((a, b))
                tokens.append(made)
        tokens = list(dict.fromkeys(tokens + ["?"] + (bytes_of_model() if bits in (6, 9) else [])))
        options = {"unk_token": "?" if bits != 3 else "", "continuing_subword_prefix": prefix,
                   "end_of_word_suffix": suffix}
        tok = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, merges,
                                   fuse_unk=bits & 1 > 0, byte_fallback=bits in (6, 9),
                                   ignore_merges=bits & 2 > 0,
                                   **{name: text for name, text in options.items() if text}))
        tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        yield tok


def scoring():
    rng = random.Random(13)
    for bits in range(4):
        words = dict.fromkeys(["?"] + SYLLABLES[:4])
        while len(words) < 40:
            words["".join(rng.choice("abcd") for _ in range(rng.randrange(2, 6)))] = None
        if bits & 1:
            words.update(dict.fromkeys(bytes_of_model()))
        scored = [(w, -0.5 * rng.randrange(2, 20)) for w in words]
        tok = Tokenizer(models.Unigram(scored, 0, bits & 1 > 0))
        tok.pre_tokenizer = pre_tokenizers.Metaspace() if bits & 2 else None
        yield tok
    for most in (3, 8, 100):
        words = ["[UNK]", "a", "b", "ab", "abc", "##a", "##b", "##ab", "##c", "##bc", "c", "d"]
        tok = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)},
                                         max_input_chars_per_word=most))
        tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        yield tok


SIGNS = [
    "Hello", "hello", "##lo", "##", "▁the", "▁", "the▁", "lo</w>", "</w>", "<pad>", "|",
    "a|b", "<0xE4>", "<0xBD>", "<0xA0>", "<0x41>", "<0xFF>", "do", "not", "n't", "'s", "'", "'ve",
    "'re", "'m", ".", "?", "!", ",", "xx", "xaxx", "Ġlow", "Ã", "©", "é", "lo"]


def decoding():
    d = decoders
    for decoder in [None, d.ByteLevel(), d.WordPiece(), d.WordPiece("lo", False), d.Fuse(),
                    d.Metaspace(), d.Metaspace("▁", "never"), d.Metaspace("▁", "first"),
                    d.ByteFallback(), d.Strip("x", 1, 0), d.Strip("x", 0, 2), d.Replace("l", "LL"),
                    d.Replace(Regex("l+|<"), "-"), d.BPEDecoder(), d.BPEDecoder("lo"), d.CTC(),
                    d.CTC("xx", "a", False),
                    d.Sequence([d.Replace("▁", " "), d.ByteFallback(), d.Fuse(),
                                d.Strip(" ", 1, 0)])]:
        tok = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SIGNS)}, unk_token="?"))
        tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        if decoder:
            tok.decoder = decoder
        yield tok


def decoded_texts():
    rng = random.Random(17)
    return [" ".join(rng.choice(SIGNS) for _ in range(12)) for _ in range(8)] + [
        "do not . hello 's Hello n't ? ' 'm 've 're ! ,", "hello hello ##lo <0xE4> <0xBD> <0xA0> a",
        "<0xE4> <0xBD> lo <0x41> <0xFF>", "▁the ▁ the▁", "xx", "lo</w> lo</w>", ""]


def like(name):
    """One as a known model has it, learned from a few sentences."""
    size = {"llama": 330, "mistral": 330, "fallback": 340, "t5": 60, "xlmr": 60, "words": 60}
    texts = SENTENCES[:2] if name in ("t5", "xlmr", "fallback") else SENTENCES[:6]
    return KINDS[name](texts * 3, size.get(name, 300))


def write_cases(path):
    """Small tokenizers, and what they give: a line of JSON each, then lines of results."""
    rng = random.Random(3)
    texts = SENTENCES + [strange(rng)[:60] for _ in range(4)]
    added = SENTENCES[7:8] + ["lowest low<|end|>slow <mask> x Added", " add  add <mask>",
                              "added low  "]
    groups = [([like(name) for name in KINDS], texts), (decoding(), decoded_texts()),
              (merging(), small_texts()), (scoring(), small_texts())]
    more = [(normalizing(), SENTENCES + ["|".join(EDGES)]), (splitting(), SENTENCES),
            (matching(), SENTENCES[:6]),
            (framing(), SENTENCES[1:5]), (adding(), added), (lifting(), added)]
    with open(path, "w") as file:
        for tokenizers, given in groups + more:
            for tok in tokenizers:
                write_one(file, tok, given, (tokenizers, given) in groups)


def write_one(file, tok, texts, decodes):
    file.write(tok.to_str() + "\n")
    tok = Tokenizer.from_str(tok.to_str())
    for i, text in enumerate(texts):
        for pair in [None] + ([texts[i - 1]] if i % 4 == 1 else []):
            try:
                file.write(results(tok, text, pair, decodes))
            except Exception:  # a strategy of truncation that does not serve
                continue
    file.write("\n")


if sys.argv[1] == "--cases":
    write_cases(sys.argv[2])
else:
    write(sys.argv[1], sys.argv[3:] and sys.argv[3:] or KINDS,
          float(sys.argv[2]) * 1e6 if len(sys.argv) > 2 else 3e6, 4000)
