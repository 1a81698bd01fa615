"""The scripts of characters, and the languages whose names stand in paths and columns."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tokstudio.core.base.progress import Progress, Work, finish

if TYPE_CHECKING:
    from numpy.typing import NDArray

# --- The scripts of letters: those of living languages by name, "Other" for all others --------------------------------

# Frequent ones first; fewer than 64, so that a set of them and "Other" fits into 64 bits.
# fmt: off
_UNICODE_SCRIPTS = (
    "Latin", "Cyrillic", "Han", "Hiragana", "Katakana", "Hangul", "Arabic", "Devanagari", "Greek", "Hebrew", "Thai",
    "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Georgian",
    "Armenian", "Ethiopic", "Khmer", "Lao", "Myanmar", "Tibetan", "Mongolian", "Thaana", "Syriac", "Cherokee",
    "Canadian_Aboriginal", "Bopomofo", "Yi", "Tifinagh", "Nko", "Vai", "Javanese", "Balinese", "Sundanese", "Ol_Chiki",
    "Meetei_Mayek", "Chakma", "Lisu", "New_Tai_Lue", "Tai_Le", "Tai_Tham", "Adlam", "Osage", "Coptic", "Runic",
    "Gothic", "Ogham",
)
# fmt: on
#: The names of all scripts.
SCRIPTS = (*(script.replace("_", " ") for script in _UNICODE_SCRIPTS), "Other")


def scripts_work(distinct: NDArray[np.uint32]) -> Work[list[tuple[str, NDArray[np.uint32]]]]:
    """Groups distinct letters, and marks on letters, by script; characters that many scripts share are left out."""
    import regex

    text = distinct.astype("<u4").tobytes().decode("utf-32-le", "ignore")
    letters = "".join(regex.findall(r"[[\p{L}\p{M}]--[\p{Script=Common}\p{Script=Inherited}]]+", text, regex.V1))
    scripts: list[tuple[str, NDArray[np.uint32]]] = []
    for script in _UNICODE_SCRIPTS:
        if not letters:
            break
        others = regex.sub(rf"\p{{Script={script}}}+", "", letters)
        if len(others) < len(letters):
            here = "".join(regex.findall(rf"\p{{Script={script}}}+", letters))
            scripts.append((script.replace("_", " "), _points(here)))
            letters = others
        yield Progress("counting scripts")
    if letters:
        scripts.append(("Other", _points(letters)))
    return scripts


@cache
def script_numbers() -> NDArray[np.uint8]:
    """uint8 [0x110000], the script of each letter and mark, from 1 in the order of `SCRIPTS`; 0 for others."""
    points = np.arange(0x110000, dtype=np.uint32)
    numbers = np.zeros(len(points), np.uint8)
    for script, letters in finish(scripts_work(points[(points < 0xD800) | (points > 0xDFFF)])):
        numbers[letters] = SCRIPTS.index(script) + 1
    numbers.setflags(write=False)
    return numbers


def _points(letters: str) -> NDArray[np.uint32]:
    return np.frombuffer(letters.encode("utf-32-le"), "<u4").astype(np.uint32)


@lru_cache(maxsize=1 << 17)
def script_of(character: str) -> str | None:
    """The script of a letter or of a mark on letters; None for characters that many scripts share."""
    points = np.frombuffer(character.encode("utf-32-le", "replace"), "<u4").astype(np.uint32)
    return next((script for script, _ in finish(scripts_work(points))), None)


# --- Languages --------------------------------------------------------------------------------------------------------
# English names of languages by their codes: those of ISO 639-1 and 639-3, with a script or a region after them.

# ISO 639-3, the code of ISO 639-1 where there is one, the name. All languages of FLORES-200, the macrolanguages above
# them, and others that are often written.
_TABLE = """
abk ab Abkhaz; ace Acehnese; acm Mesopotamian Arabic; acq Ta'izzi-Adeni Arabic; aeb Tunisian Arabic; afr af Afrikaans;
ajp South Levantine Arabic; aka ak Akan; als Albanian; amh am Amharic; apc Levantine Arabic; ara ar Arabic;
arb Arabic; arg an Aragonese; ars Najdi Arabic; ary Moroccan Arabic; arz Egyptian Arabic; asm as Assamese;
ast Asturian; awa Awadhi; ayr Aymara; aym ay Aymara; azb South Azerbaijani; azj Azerbaijani; aze az Azerbaijani;
bak ba Bashkir; bam bm Bambara; ban Balinese; bel be Belarusian; bem Bemba; ben bn Bengali; bho Bhojpuri; bjn Banjar;
bod bo Tibetan; bos bs Bosnian; bre br Breton; brx Bodo; bug Buginese; bul bg Bulgarian; cat ca Catalan; ceb Cebuano;
ces cs Czech; che ce Chechen; chr Cherokee; chv cv Chuvash; cjk Chokwe; ckb Central Kurdish; cmn Chinese; cop Coptic;
cor kw Cornish; cos co Corsican; crh Crimean Tatar; cym cy Welsh; dan da Danish; deu de German; dgo Dogri; dik Dinka;
div dv Dhivehi; doi Dogri; dyu Dyula; dzo dz Dzongkha; ekk Estonian; ell el Greek; eng en English; epo eo Esperanto;
est et Estonian; eus eu Basque; ewe ee Ewe; fao fo Faroese; fas fa Persian; fij fj Fijian; fil Filipino;
fin fi Finnish; fon Fon; fra fr French; fry fy West Frisian; ful ff Fula; fur Friulian; fuv Nigerian Fulfulde;
gaz Oromo; gla gd Scottish Gaelic; gle ga Irish; glg gl Galician; gom Goan Konkani; got Gothic; grc Ancient Greek;
grn gn Guarani; gsw Swiss German; guj gu Gujarati; hat ht Haitian Creole; hau ha Hausa; haw Hawaiian; heb he Hebrew;
hin hi Hindi; hne Chhattisgarhi; hrv hr Croatian; hsb Upper Sorbian; hun hu Hungarian; hye hy Armenian; ibo ig Igbo;
iku iu Inuktitut; ilo Ilocano; ina ia Interlingua; ind id Indonesian; isl is Icelandic; ita it Italian;
jav jv Javanese; jpn ja Japanese; kab Kabyle; kac Jingpho; kal kl Greenlandic; kam Kamba; kan kn Kannada;
kas ks Kashmiri; kat ka Georgian; kau kr Kanuri; kaz kk Kazakh; kbp Kabiye; kea Kabuverdianu; khk Mongolian;
khm km Khmer; kik ki Kikuyu; kin rw Kinyarwanda; kir ky Kyrgyz; kmb Kimbundu; kmr Northern Kurdish;
knc Central Kanuri; kok Konkani; kon kg Kongo; kor ko Korean; kur ku Kurdish; lao lo Lao; lat la Latin;
lav lv Latvian; lij Ligurian; lim li Limburgish; lin ln Lingala; lit lt Lithuanian; lmo Lombard; ltg Latgalian;
ltz lb Luxembourgish; lua Luba-Kasai; lug lg Ganda; luo Luo; lus Mizo; lvs Latvian; lzh Classical Chinese; mag Magahi;
mai Maithili; mal ml Malayalam; mar mr Marathi; min Minangkabau; mkd mk Macedonian; mlg mg Malagasy; mlt mt Maltese;
mni Meitei; mon mn Mongolian; mos Mossi; mri mi Maori; msa ms Malay; mya my Burmese; nav nv Navajo; nds Low German;
nep ne Nepali; new Newar; nld nl Dutch; nno nn Norwegian Nynorsk; nob nb Norwegian Bokmål; nor no Norwegian;
npi Nepali; nqo N'Ko; nso Northern Sotho; nus Nuer; nya ny Nyanja; oci oc Occitan; ori or Odia; orm om Oromo;
ory Odia; oss os Ossetian; pag Pangasinan; pan pa Punjabi; pap Papiamento; pbt Southern Pashto; pes Persian;
plt Malagasy; pol pl Polish; por pt Portuguese; prs Dari; pus ps Pashto; que qu Quechua; quy Ayacucho Quechua;
roh rm Romansh; ron ro Romanian; run rn Rundi; rus ru Russian; sag sg Sango; sah Yakut; san sa Sanskrit; sat Santali;
scn Sicilian; sco Scots; shn Shan; sin si Sinhala; slk sk Slovak; slv sl Slovenian; sme se Northern Sami;
smo sm Samoan; sna sn Shona; snd sd Sindhi; som so Somali; sot st Southern Sotho; spa es Spanish; sqi sq Albanian;
srd sc Sardinian; srp sr Serbian; ssw ss Swati; sun su Sundanese; swa sw Swahili; swe sv Swedish; swh Swahili;
syr Syriac; szl Silesian; tam ta Tamil; taq Tamasheq; tat tt Tatar; tel te Telugu; tgk tg Tajik; tgl tl Tagalog;
tha th Thai; tir ti Tigrinya; tok Toki Pona; tpi Tok Pisin; tsn tn Tswana; tso ts Tsonga; tuk tk Turkmen; tum Tumbuka;
tur tr Turkish; twi tw Twi; tyv Tuvan; tzm Central Atlas Tamazight; udm Udmurt; uig ug Uyghur; ukr uk Ukrainian;
umb Umbundu; urd ur Urdu; uzb uz Uzbek; uzn Uzbek; vec Venetian; ven ve Venda; vie vi Vietnamese; war Waray;
wol wo Wolof; wuu Wu Chinese; xho xh Xhosa; ydd Yiddish; yid yi Yiddish; yor yo Yoruba; yue Cantonese;
zgh Standard Moroccan Tamazight; zha za Zhuang; zho zh Chinese; zsm Malay; zul zu Zulu
"""
_SCRIPTS = {
    "Arab": "Arabic", "Armn": "Armenian", "Beng": "Bengali", "Bopo": "Bopomofo", "Cans": "Canadian Aboriginal",
    "Cher": "Cherokee", "Copt": "Coptic", "Cyrl": "Cyrillic", "Deva": "Devanagari", "Ethi": "Ethiopic",
    "Geor": "Georgian", "Goth": "Gothic", "Grek": "Greek", "Gujr": "Gujarati", "Guru": "Gurmukhi", "Hang": "Hangul",
    "Hani": "Han", "Hans": "Simplified", "Hant": "Traditional", "Hebr": "Hebrew", "Java": "Javanese",
    "Jpan": "Japanese", "Khmr": "Khmer", "Knda": "Kannada", "Kore": "Korean", "Laoo": "Lao", "Latn": "Latin",
    "Mlym": "Malayalam", "Mong": "Mongolian", "Mtei": "Meetei Mayek", "Mymr": "Myanmar", "Nkoo": "Nko",
    "Olck": "Ol Chiki", "Orya": "Oriya", "Sinh": "Sinhala", "Sund": "Sundanese", "Syrc": "Syriac", "Taml": "Tamil",
    "Telu": "Telugu", "Tfng": "Tifinagh", "Thaa": "Thaana", "Thai": "Thai", "Tibt": "Tibetan", "Yiii": "Yi",
}  # fmt: skip
# The script tells their names apart.
# fmt: off
_IN_SEVERAL_SCRIPTS = frozenset((
    "ace", "arb", "aze", "bjn", "bos", "cmn", "kas", "kau", "knc", "kur", "min", "mni", "mon", "msa", "pan",
    "snd", "srp", "taq", "tzm", "uzb", "zho",
))
# fmt: on
_REGION = re.compile(r"[A-Za-z]{2}|\d{3}")
_VARIANT = re.compile(r"\d\w{0,3}|[a-z]{5,8}|monotonic|polytonic")


def _read() -> tuple[dict[str, str], dict[str, str]]:
    """The code of ISO 639-3 for each code, and the name for each code of ISO 639-3."""
    codes: dict[str, str] = {}
    names: dict[str, str] = {}
    for row in _TABLE.split(";"):
        first, second, *more = row.split()
        is_short = len(second) == 2 and second.islower()
        names[first] = " ".join(more if is_short else (second, *more))
        codes |= {first: first} | ({second: first} if is_short else {})
    return codes, names


_CODES, _NAMES = _read()


def language_name(code: str) -> str:
    """The English name for a code: "German" for `deu_Latn`, `de` or `deu_1996`; the code itself where it is unknown.

    A region is added, and the script of a language with several: "Portuguese (BR)", "Chinese (Simplified)".
    """
    return _name_of(code) or code


def is_language(name: str) -> bool:
    """Whether this is the code of a known language, or its English name."""
    return _name_of(name) is not None or name in _NAMES.values()


def _name_of(code: str) -> str | None:
    first, *rest = re.split("[-_]", code)
    language = _CODES.get(first)
    if language is None:
        return None
    details: list[str] = []
    for part in rest:
        if script := _SCRIPTS.get(part.capitalize()):
            is_told = language in _IN_SEVERAL_SCRIPTS and script != _NAMES[language]
            details += [script] if is_told else []
        elif _REGION.fullmatch(part):
            details.append(part.upper())
        elif len(first) == 2 or not _VARIANT.fullmatch(part):
            # `is_valid` is no code, but the name of a column.
            return None
    return f"{_NAMES[language]} ({', '.join(details)})" if details else _NAMES[language]
