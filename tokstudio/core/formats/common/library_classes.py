"""Classes of the transformers library that make a tokenizer anew: their pattern, and roles that files need not name.

They take vocabulary, merges and post-processor of a `tokenizer.json`, but not its pattern, normalizer and decoder.
Other classes take it as it is. The tokenizer's files name the class, or the type of the model tells it. The tests
compare this with the library.
"""

# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from tokstudio.core.base.records import dataclass

_SHORT = ("bos", "eos", "sep", "cls", "unk", "pad", "mask")


@dataclass(frozen=True)
class LibraryClass:
    """What a class sets by itself."""

    roles: Mapping[str, str]  # the special tokens by role, where files name none
    # The name of the pattern that splits text into bytes, where it is one; None where it does otherwise.
    splits: Literal["gpt2", "qwen2"] | None = None
    nfc: bool = False  # whether it normalizes text to form C


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

# The classes of models that name none, by the models' types as `config.json` has them.
_MODELS: tuple[tuple[str, str], ...] = (
    ("Albert", "albert yoso"),
    ("Bart", "florence2"),
    (
        "Bert",
        "align bark bert blip bros chinese_clip convbert distilbert electra ernie flava git grounding-dino "
        "layoutlm megatron-bert mm-grounding-dino nomic_bert squeezebert tvp vilt visual_bert",
    ),
    ("BigBird", "big_bird"),
    ("Blenderbot", "blenderbot"),
    ("CLIP", "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip"),
    ("Camembert", "camembert"),
    ("Cohere", "aya_vision cohere cohere2"),
    ("DPRQuestionEncoder", "dpr"),
    ("Deberta", "deberta"),
    ("DebertaV2", "deberta-v2"),
    ("Esmc", "esmc esmfold2"),
    ("Funnel", "funnel"),
    (
        "GPT2",
        "blip-2 codegen dbrx emu3 gpt-sw3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip "
        "instructblipvideo jais2 opt phi starcoder2",
    ),
    ("GPTNeoX", "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm"),
    (
        "Gemma",
        "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 "
        "t5gemma zaya",
    ),
    ("LED", "led"),
    ("Lasr", "lasr_ctc lasr_encoder"),
    ("LayoutLMv2", "layoutlmv2"),
    ("LayoutLMv3", "layoutlmv3"),
    ("LayoutXLM", "layoutxlm"),
    ("Llama", "idefics idefics2"),
    ("Luke", "luke"),
    ("Lxmert", "lxmert"),
    ("MBart", "mbart"),
    ("MPNet", "mpnet"),
    ("MarkupLM", "markuplm"),
    ("MobileBert", "mobilebert"),
    ("Mvp", "mvp"),
    ("Nllb", "nllb-moe"),
    ("Nougat", "pp_formulanet"),
    ("OpenAIGPT", "openai-gpt"),
    ("Pegasus", "pegasus"),
    (
        "Qwen2",
        "audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl lighton_ocr "
        "moss_transcribe_diarize ovis2 qianfan_ocr qwen2 qwen2_5_omni qwen2_5_vl qwen2_audio qwen2_moe "
        "qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe vibevoice",
    ),
    ("Qwen3_5", "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp"),
    ("Reformer", "reformer"),
    ("RemBert", "rembert"),
    ("RoFormer", "roformer"),
    ("Roberta", "bart bridgetower clap data2vec-text ibert lilt longformer mra roberta roberta-prelayernorm"),
    ("SeamlessM4T", "seamless_m4t seamless_m4t_v2"),
    ("Siglip2", "siglip2"),
    ("Splinter", "splinter"),
    ("T5", "mt5 musicgen musicgen_melody switch_transformers t5"),
    ("Tipsv2", "tipsv2"),
    ("Udop", "udop"),
    ("VideoPrism", "videoprism"),
    ("Whisper", "whisper"),
    ("XGLM", "xglm"),
    ("XLMRoberta", "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod"),
    ("XLNet", "xlnet"),
)
_OF_MODEL = {model: f"{name}Tokenizer" for name, models in _MODELS for model in models.split()}
# Models whose files are taken as they are, whatever class they name.
_TYPES_TAKEN_WHOLE = (
    "EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 "
    "ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 "
    "gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared h2ovl_chat "
    "hyperclovax hyperclovax_vlm internlm2 internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava "
    "llava_next mimo_v2_flash minicpm3 minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 ministral "
    "ministral3 mistral mistral3 mistral_large4 mixtral modernbert modernbert-decoder molmo molmo2 "
    "nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3 olmo_hybrid opencua openvla paddleocr_vl "
    "pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral pocket_tts smolvlm stablelm step3_vl umt5 "
    "vipllava voxtral voxtral_realtime xlm-roberta-xl"
)
_WHOLE = frozenset(_TYPES_TAKEN_WHOLE.split())
# Models that have their own class, whatever class their files name.
_FIRM = frozenset(
    ["hyperclovax_vision_v2", "qwen2", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp", "siglip2"]
)


def class_of(named: str | None, model: Mapping[str, object], has_code: bool = False) -> str | None:
    """The class with which the library opens the files of a tokenizer; None for the one that takes them as they are.

    Args:
        named: The class that `tokenizer_config.json` names.
        model: The content of the model's `config.json`.
        has_code: Whether `tokenizer_config.json` names a class with code of its own.
    """
    kind, own = (value if isinstance(value := model.get(key), str) else "" for key in ("model_type", "tokenizer_class"))
    usual = _OF_MODEL.get(kind)
    if (name := named or own) and not has_code:
        if kind in _WHOLE:
            return None
        if kind in _FIRM:
            return usual
    if name:
        return name
    encoder = model.get("encoder")
    if kind == "encoder-decoder" and isinstance(encoder, dict):
        return class_of(named, {"model_type": cast("dict[str, object]", encoder).get("model_type")}, has_code)
    return usual


def library_class(name: str | None) -> LibraryClass | None:
    """What a class sets by itself; None for one that takes files as they are, or that is not known."""
    return None if name is None else CLASSES.get(name.removesuffix("Fast"))
