"""All rules together: their order, values for JSON and CSV, and files and texts that nobody expects."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import csv
import io
import json
from contextlib import suppress

import pytest

from tests.core.lint.made import END, added, content, folder, split
from tests.processes import started_processes
from tokstudio import FormatError
from tokstudio.core.base.progress import Progress, finish
from tokstudio.core.formats.common.text_readers import LARGEST_VALUE
from tokstudio.core.libraries.client import torture_text
from tokstudio.core.lint import subject as subject_module
from tokstudio.core.lint.findings import LEVELS, LintFinding, has_error, summary, to_csv, to_json, worst_first
from tokstudio.core.lint.lint import RULES, lint, lint_work
from tokstudio.core.lint.subject import HARD, subject_work

MANY_FAULTS = {
    "config": {"foo_token": "the", "eos_token": "<|stop|>", "chat_template": "<|im_start|>"},
    "generation": "{",
    "model": {"vocab_size": 300},
}


def test_the_worst_comes_first_and_every_finding_says_what_to_do(tmp_path):
    findings = lint(folder(tmp_path, content(vocabulary=["<|user|>"]), **MANY_FAULTS))
    levels = [finding.level for finding in findings]
    assert levels == sorted(levels, key=list(LEVELS).index)
    assert {"error", "danger", "remark"} == set(levels)
    assert has_error(findings)
    assert all(finding.message.endswith(".") and finding.advice.endswith(".") for finding in findings)


def test_findings_of_one_level_keep_their_order():
    findings = [
        LintFinding(str(n), level, "", "", "") for n, level in enumerate(["remark", "error", "remark", "error"])
    ]
    assert [finding.rule for finding in worst_first(findings)] == ["1", "3", "0", "2"]


def test_every_rule_has_a_name_of_its_own_and_a_level():
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    assert {rule.level for rule in RULES} == set(LEVELS)


def test_a_tokenizer_without_fault_has_no_errors_or_dangers_and_needs_one_process(tmp_path, monkeypatch):
    place = folder(tmp_path, config={"eos_token": END, "tokenizer_class": "PreTrainedTokenizerFast"})
    started = started_processes(monkeypatch)
    assert {finding.level for finding in lint(place)} <= {"remark"}
    [process] = started  # it splits for all rules
    assert process.poll() is not None


def test_values_for_json_and_csv(tmp_path):
    findings = [
        LintFinding("a-rule", "error", "It is.", "=1+1", "Do."),
        LintFinding("b-rule", "remark", "So, so.", 'x "y"', "No."),
    ]
    first = json.loads(to_json(findings))[0]
    assert first == {"level": "error", "rule": "a-rule", "message": "It is.", "example": "=1+1", "advice": "Do."}
    rows = list(csv.reader(io.StringIO(to_csv(findings))))
    assert rows[0] == ["level", "rule", "message", "example", "advice"]
    assert rows[1][3] == "'=1+1"
    assert rows[2] == ["remark", "b-rule", "So, so.", 'x "y"', "No."]
    assert summary(findings) == "1 error and 1 remark"
    assert summary([]) == "nothing found"


def test_progress_never_decreases_and_names_what_is_looked_at(tmp_path):
    steps = [step for step in lint_work(folder(tmp_path)) if step.phase in {rule.looks_at for rule in RULES}]
    assert [step.done for step in steps] == sorted(step.done for step in steps)
    assert steps[-1] == Progress(RULES[-1].looks_at, 100 * len(RULES), 100 * len(RULES))


def test_closing_the_work_ends_it(tmp_path):
    work = lint_work(folder(tmp_path, content(normalizer={"type": "Lowercase"})))
    for _ in range(12):
        next(work)
    work.close()
    with pytest.raises(StopIteration):
        next(work)


class TestBadInput:
    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("{", "ends too early"),
            ("[]", "an object is missing"),
            ('{"model": {"type": "BPE", "vocab": [1]}}', "must be an object"),
        ],
    )
    def test_broken_json_is_one_sentence(self, tmp_path, text, what):
        (tmp_path / "tokenizer.json").write_text(text)
        with pytest.raises(FormatError, match=what):
            lint(tmp_path)

    def test_so_is_broken_json_beside_it(self, tmp_path):
        with pytest.raises(FormatError, match=r"tokenizer_config\.json"):
            lint(folder(tmp_path, config='{"eos_token": '))

    def test_a_folder_with_nothing_and_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(FormatError, match="no tokenizer file"):
            lint(tmp_path)
        with pytest.raises(FormatError, match="no such file"):
            lint(tmp_path / "nothing")

    def test_special_tokens_in_texts_are_text(self, tmp_path):
        texts = {"text": f"{END} and {END}{END}\n" * 20}
        rules = {finding.rule for finding in lint(folder(tmp_path), texts)}
        assert not {"decoding-differs", "unknown-characters"} & rules

    def test_texts_may_have_no_name_be_empty_or_no_utf8(self, tmp_path):
        place = folder(tmp_path)
        for texts in ({}, {"a": "", "b": b" \n"}, []):
            subject = finish(subject_work(place, texts))
            assert (subject.texts, subject.given) == ({HARD: torture_text()}, False)
        for texts in ({"text 1": "cafe\u0301"}, ["cafe\u0301"], "cafe\u0301", "cafe\u0301".encode()):
            subject = finish(subject_work(place, texts))
            assert (subject.texts, subject.given) == ({"text 1": "cafe\u0301"}, True)
        assert not has_error(lint(place, {"a": b"\xff\xfe caf\xe9"}))

    @pytest.mark.parametrize("encoded", [bytes, str])
    def test_of_a_large_text_lines_from_all_its_parts_are_looked_at(self, tmp_path, monkeypatch, encoded):
        monkeypatch.setattr(subject_module, "MOST_TEXT", 1 << 14)
        lines = [f"line {number} of a text\n" for number in range(1000, 3000)]
        text = "".join(lines)
        subject = finish(subject_work(folder(tmp_path), {"text": text if encoded is str else text.encode()}))
        [looked_at] = subject.texts.values()
        assert 14_000 < len(looked_at) < 16_500
        assert {line[5:7] for line in subject.lines if line in lines} == set(map(str, range(10, 30)))
        assert set(subject.lines) <= {*lines, *looked_at.splitlines(keepends=True)}

    def test_a_chat_template_of_a_megabyte_and_values_of_wrong_types(self, tmp_path):
        template = "<|x" * 350_000
        assert len(template) < LARGEST_VALUE
        beside = {"generation": {"eos_token_id": "x", "pad_token_id": [None]}, "model": {"vocab_size": "many"}}
        assert not has_error(lint(folder(tmp_path, config={"chat_template": template, "eos_token": END}, **beside)))

    def test_a_pattern_that_takes_forever_is_a_sentence_or_passed_over(self, tmp_path):
        tokenizer = content(pre_tokenizer=split(r"(a+)+$|(?:[\s\S])"))
        with suppress(FormatError):
            assert not has_error(lint(folder(tmp_path, tokenizer), {"text": "a" * 40 + "b"}))

    def test_thousands_of_special_tokens_are_tried_by_their_kinds(self, tmp_path):
        tokens = [added(f"<|x{n}|>", 258 + n, normalized=True) for n in range(900)]
        findings = lint(folder(tmp_path, content(specials=tokens, normalizer={"type": "NFKC"})))
        assert "special-from-other-text" in {finding.rule for finding in findings}
