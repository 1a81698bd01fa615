"""A text that is hard for tokenizers, for the proof of exports.

It contains every byte below 128, all kinds of white space, many scripts, joined emoji, combining marks and long runs.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

_SCRIPTS = (
    "The quick brown fox jumps over the lazy dog. Straße, naïve, Ærøskøbing, İstanbul, ſhort, ﬁne, Ǆ, Œuvre.",
    "Ελληνικά ΣΊΣΥΦΟΣ σίσυφος. Съешь же ещё этих мягких французских булок. Ҩ Ԛ Ѿ. Հայերեն. ქართული.",
    "עִבְרִית שלום. العَرَبِيَّة مرحبا بالعالم ١٢٣. فارسی ۱۲۳. ܣܘܪܝܝܐ. ދިވެހި. ߒߞߏ.",
    "हिन्दी क्षत्रिय १२३. বাংলা. ਪੰਜਾਬੀ. ગુજરાતી. ଓଡ଼ିଆ. தமிழ். తెలుగు. ಕನ್ನಡ. മലയാളം. සිංහල.",
    "ภาษาไทยไม่เว้นวรรค. ພາສາລາວ. བོད་ཡིག. မြန်မာ. ភាសាខ្មែរ. ᠮᠣᠩᠭᠣᠯ. አማርኛ. ᏣᎳᎩ. ᐃᓄᒃᑎᑐᑦ. ᚠᚢᚦ. ⴰⵎⴰⵣⵉⵖ.",
    "日本語の文章、カタカナ、ｶﾀｶﾅ、漢字。中文没有空格，標點符號！한국어 조합 한글. ㄅㄆㄇ. 𠀀𪚥 𓀀𓂀 𒀀 𐍈 𝔘𝔫𝔦 𝟘𝟙.",
)
_EMOJI = "👩‍👩‍👧‍👦 👨🏽‍🚀 🏳️‍🌈 🇩🇪🇯🇵🇧🇷 ❤️ ☠︎ 1️⃣ 🤷🏿‍♀️ 🫠 😀😀😀"
_MARKS = (
    "e\u0301 e\u0301\u0323\u0302 Z\u0351\u036b\u0343a\u0323\u030a\u0303l\u0338g\u0321o\u0334 "
    "\u0301 \u1100\u1161\u11a8 n\u0303"
)
_SPACES = "".join(chr(code) for code in (9, 10, 11, 12, 13, 28, 29, 30, 31, 32, 0x85, 0xA0, 0x1680)) + "".join(
    chr(code) for code in (*range(0x2000, 0x2010), 0x2028, 0x2029, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF)
)
_LINES = "one\rtwo\r\nthree\n\rfour\n\n\n  five  \r\n\r\n\t\tsix \n"
_CODE = (
    "def f(x):\n    return {'a': [1, 2.5e-3], \"b\": \"\\n\\\\\"}  # don't, I'll, WE'VE, it’s\n\tif x != 0x1F: pass\n"
    "<|endoftext|> <s> </s> [UNK] ▁ Ġ Ċ ## @@ https://example.org/a%20b?c=d&e=#f 1234567890123 3,141.59 ½ Ⅷ ²³ ٣\n"
)
_RUNS = "a" * 300 + " " * 200 + "\n" * 100 + "ab" * 150 + "=" * 80 + "0" * 100 + "😀" * 30 + "\u0301" * 30
_CODES = "".join(map(chr, range(128))) + "".join(chr(code) for code in range(128, 0x180))
_EDGES = (
    "\x00\x00a\x00 \ufeff \ufeffa \ufffd \uffff \ue000 \U000f0000 \U0010ffff "
    "\u00ad \u200b \u202eabc\u202c \u2066x\u2069"
)


def torture_text() -> str:
    """The text, about 9 kB of UTF-8; it begins with a space and ends with white space."""
    parts = (*_SCRIPTS, _EMOJI, _MARKS, _SPACES, _LINES, _CODE, _RUNS, _CODES, _EDGES)
    return " " + "\n".join(parts) + "\n" + " ".join(reversed(_SCRIPTS)) + _LINES
