"""Classes of the transformers library that make a tokenizer anew: their pattern, and roles that files need not name.

They take vocabulary, merges and post-processor of a `tokenizer.json`, but not its pattern, normalizer and decoder.
Other classes take it as it is. The tests compare this with the library.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

_SHORT = ("bos", "eos", "sep", "cls", "unk", "pad", "mask")


@dataclass(frozen=True)
class LibraryClass:
    """What a class sets by itself.

    Attributes:
        roles: The special tokens by role, where files name none.
        splits: The name of the pattern that splits text into bytes, where it is one; None where it does otherwise.
        nfc: Whether it normalizes text to form C.
    """

    roles: Mapping[str, str]
    splits: Literal["gpt2", "qwen2"] | None = None
    nfc: bool = False


def _roles(*tokens: str | None, **others: str) -> dict[str, str]:
    """Roles by their usual order, without those that are None, and others by name."""
    usual = {f"{name}_token": token for name, token in zip(_SHORT, tokens, strict=False) if token is not None}
    return usual | {f"{name}_token": token for name, token in others.items()}


_ROBERTA = _roles("<s>", "</s>", "</s>", "<s>", "<unk>", "<pad>", "<mask>")
_BERT = _roles(None, None, "[SEP]", "[CLS]", "[UNK]", "[PAD]", "[MASK]")
_ALBERT = _roles("[CLS]", "[SEP]", "[SEP]", "[CLS]", "<unk>", "<pad>", "[MASK]")
_DEBERTA = _roles("[CLS]", "[SEP]", "[SEP]", "[CLS]", "[UNK]", "[PAD]", "[MASK]")
_END = "<|endoftext|>"
_GPT2 = _roles(_END, _END, unk=_END)
_QWEN = _roles(None, _END, unk=_END, pad=_END)
_LLAMA = _roles("<s>", "</s>", unk="<unk>")
_T5 = _roles(None, "</s>", unk="<unk>", pad="<pad>")
_GEMMA = _roles("<bos>", "<eos>", unk="<unk>", pad="<pad>", mask="<mask>")
_LUKE = {
    **_ROBERTA, "entity_1_token": "<ent>", "entity_2_token": "<ent2>", "entity_unk_token": "[UNK]",
    "entity_pad_token": "[PAD]", "entity_mask_token": "[MASK]", "entity_mask2_token": "[MASK2]",
}  # fmt: skip
_SEAMLESS = _roles("<s>", "</s>", "</s>", "<s>", "<unk>", "<pad>")
_CODE_LLAMA = _LLAMA | _roles(prefix="▁<PRE>", middle="▁<MID>", suffix="▁<SUF>", eot="▁<EOT>", fill="<FILL_ME>")
_COHERE = _roles("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<SEP>", "<CLS>", "<UNK>", "<PAD>", "<MASK_TOKEN>")

_BY_ROLES: tuple[tuple[dict[str, str], str], ...] = (
    (_ALBERT, "Albert RemBert"),
    (_ROBERTA, "Barthez Blenderbot Camembert LayoutLMv3 LayoutXLM MBart MarkupLM Nllb XLMRoberta"),
    (_BERT, "Bert Electra LayoutLM LayoutLMv2 Lxmert MobileBert RoFormer SqueezeBert"),
    (_roles("<s>", "</s>", "[SEP]", "[CLS]", "<unk>", "<pad>", "[MASK]"), "BigBird"),
    (_roles("<|startoftext|>", _END, unk=_END, pad=_END), "CLIP"),
    (_CODE_LLAMA, "CodeLlama"),
    (_COHERE, "Cohere"),
    ({}, "DPRContextEncoder DPRQuestionEncoder DPRReader DistilBert"),
    (_DEBERTA, "DebertaV2"),
    (_roles(None, "<eos>", None, "<cls>", "<unk>", "<pad>", "<mask>", chain_break="|"), "Esmc"),
    (_roles("<s>", "</s>", "<sep>", "<cls>", "<unk>", "<pad>", "<mask>"), "Funnel XLNet"),
    (_GEMMA, "Gemma Siglip2"),
    (_roles(None, None, "</s>", "<s>", "<unk>", "<pad>", "<mask>"), "Herbert"),
    (_T5, "Lasr T5 VideoPrism"),
    (_LLAMA, "Llama Phi3"),
    (_LUKE, "MLuke"),
    (_roles(None, "</s>", "</s>", "<s>", "<unk>", "<pad>", "<mask>"), "MBart50"),
    (_roles("<s>", "</s>", "</s>", "<s>", "[UNK]", "<pad>", "<mask>"), "MPNet"),
    (_roles("<s>", "</s>", unk="<unk>", pad="<pad>"), "Nougat"),
    (_roles(unk="<unk>"), "OpenAIGPT"),
    (_roles(None, "</s>", unk="<unk>", pad="<pad>", mask="<mask_2>"), "Pegasus"),
    (_QWEN, "Qwen3_5"),
    (_roles(None, "</s>", unk="<unk>"), "Reformer"),
    (_SEAMLESS, "SeamlessM4T XGLM"),
    (_BERT | _roles(question="[QUESTION]"), "Splinter"),
    (_roles(unk="<unk>", pad="<pad>"), "Tipsv2"),
    (_roles(None, "</s>", "</s>", unk="<unk>", pad="<pad>"), "Udop"),
)
#: The classes by their names without "Fast" at the end.
CLASSES: Mapping[str, LibraryClass] = {
    **{f"{name}Tokenizer": LibraryClass(roles) for roles, names in _BY_ROLES for name in names.split()},
    **{f"{name}Tokenizer": LibraryClass(_ROBERTA, "gpt2") for name in ["Bart", "LED", "Longformer", "Mvp", "Roberta"]},
    **{f"{name}Tokenizer": LibraryClass(_GPT2, "gpt2") for name in ["CodeGen", "GPT2", "Whisper"]},
    "DebertaTokenizer": LibraryClass(_DEBERTA, "gpt2"),
    "GPTNeoXTokenizer": LibraryClass(_GPT2 | {"pad_token": "<|padding|>"}, "gpt2", nfc=True),
    "LukeTokenizer": LibraryClass(_LUKE, "gpt2"),
    "Qwen2Tokenizer": LibraryClass(_QWEN, "qwen2", nfc=True),
}


def library_class(name: str | None) -> LibraryClass | None:
    """What a class sets by itself; None for one that takes files as they are, or that is not known."""
    return None if name is None else CLASSES.get(name.removesuffix("Fast"))
