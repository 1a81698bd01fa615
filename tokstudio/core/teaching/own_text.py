"""The text of our own for exercises: every mistake that the checker knows shows on it."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

#: 1 kB: accents, Han, CRLF, blank lines, digits of other scripts, adjacent special tokens, runs of one letter,
#: underscores, capitals, white space of every kind, and one byte that is not UTF-8.
TEXT = (
    "  The tailor's tale\r\n\r\n"
    "  In the old town there lived a tailor, and the tailor's name was Ānanda.\n"
    "He sewed  the coats of the town; he sewed them by the light of one lamp.\n\n\n"
    "“A coat,” he said, “is a story: naïve, très précis, and übermütig.”<|endoftext|><|endoftext|>"
    "裁缝说：一针一线，一针一线。裁缝的灯亮着，灯亮着。<|endoftext|>"
    "仕立屋は言った。一針、また一針。ランプの灯り、ランプの灯り。\n"
    "Ha<|endoftext|>ha<|endoftext|>ha<|endoftext|>ha<|endoftext|>ha!<|endoftext|><|endoftext|>\n"
    "def __sew__(the_cloth, __the_lamp__=None):\n"
    "    stitch_count = 1024  +  2048\n"
    "    return the_cloth_and_the_lamp if the_lamp else stitch_count\n\t\n"
    "<|endoftext|> "
    "aaaaaaa bbbbbb aaaaaaaa zzzz ZZZZ aaaaaaa — hmmmmm, brrrrr! ...... !!!!!! ?!?!\r\n"
    "Room ٣٤٥ costs १२३४ and ௧௨௩; room 345 (34 m², 12 m²) costs 1234 and 5678.\r\n"
    "endoftext| is the end of text, and the <end> of the text | the end.\n"
    "THE TAILOR SLEEPS. the tailor sleeps. The Tailor Sleeps.\n"
    "He'll sew it, she'd wear it, they've seen it, we're late, I'm cold, don't.  \n"
).encode() + b"caf\xe9 caf\xe9 caf\xe9t\xe9 caf\xe9t\xe9\n\n"
SPECIAL_TOKENS = ("<|endoftext|>",)
VOCABULARY_SIZE = 256 + 1 + 200
