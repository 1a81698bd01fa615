"""The roles of special tokens, under the names that transformers gives them."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping

#: The usual names of the special tokens of each role, in lower case.
ROLES: Mapping[str, tuple[str, ...]] = {
    "bos_token": ("<s>", "<bos>", "[bos]", "<|bos|>", "<|begin_of_text|>", "<|startoftext|>"),
    "eos_token": ("</s>", "<eos>", "[eos]", "<|eos|>", "<|end_of_text|>", "<|endoftext|>"),
    "unk_token": ("<unk>", "[unk]", "<|unk|>", "<unknown>", "<|unknown|>"),
    "pad_token": ("<pad>", "[pad]", "<|pad|>", "<padding>", "<|padding|>"),
    "sep_token": ("<sep>", "[sep]", "<|sep|>"),
    "cls_token": ("<cls>", "[cls]", "<|cls|>"),
    "mask_token": ("<mask>", "[mask]", "<|mask|>"),
}
