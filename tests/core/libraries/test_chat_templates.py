"""Messages rendered by chat templates: as transformers does, and within limits where a template is hostile."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime

import pytest
import transformers
from jinja2.exceptions import TemplateError
from transformers.utils import chat_template_utils

from tests.core.formats.trained import trained
from tests.core.libraries.templates import CALLS, HELLO, INPUTS, TALK, TEMPLATES, TOOLS
from tests.processes import no_processes, started_processes
from tokstudio import ConfigError, FormatError, load, save
from tokstudio.core.base.progress import finish
from tokstudio.core.libraries import chat_templates
from tokstudio.core.libraries.chat_templates import ChatRenderer, variables_of

SPECIALS = ["<|endoftext|>", "<unk>", "<pad>", "<|user|>"]
ROLES = {"bos_token": "<pad>", "eos_token": "<|endoftext|>", "unk_token": "<unk>"}
NAME = "The chat template"
WHOLE = "{% for m in messages %}{{ bos_token }}{{ m.role }}: {{ m.content }}<|user|>\n{% endfor %}"


class Fixed(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 2, 3, 4, 5, 6)


def folder(path, **config):
    """A tokenizer with roles, and what else its configuration says."""
    tokenizer = trained("how are you, user? system: be brief. assistant", 300, pattern="gpt2", special_tokens=SPECIALS)
    save(tokenizer, path, format="huggingface")
    plain = {"tokenizer_class": "PreTrainedTokenizerFast", **ROLES, **config}
    (path / "tokenizer_config.json").write_text(json.dumps(plain), "utf-8")
    return path


@pytest.fixture(scope="module")
def renderer():
    one = ChatRenderer()
    yield one
    one.close()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    return transformers.AutoTokenizer.from_pretrained(folder(tmp_path_factory.mktemp("theirs") / "t"))


def rendered(renderer, template, messages=HELLO, tools=None, documents=None, add_generation_prompt=False, **others):
    variables = variables_of(messages, tools, documents, add_generation_prompt, {**ROLES, **others})
    return finish(renderer.render_work(NAME, template, variables))


def refusal(renderer, template, **given):
    with pytest.raises(FormatError) as error:
        rendered(renderer, template, **given)
    return str(error.value)


class TestAsTransformers:
    def test_every_template_with_every_input(self, renderer, theirs, monkeypatch):
        monkeypatch.setattr(chat_templates, "datetime", Fixed)
        monkeypatch.setattr(chat_template_utils, "datetime", Fixed)
        texts, refused = 0, set()
        for name, template in TEMPLATES.items():
            for kind, (messages, given) in INPUTS.items():
                case, expected = f"{name}, {kind}", None
                with suppress(TemplateError, TypeError, ValueError):
                    expected = theirs.apply_chat_template(messages, chat_template=template, tokenize=False, **given)
                if expected is None:
                    assert refusal(renderer, template, messages=messages, **given).startswith(NAME), case
                    refused.add(name)
                else:
                    assert rendered(renderer, template, messages, **given) == expected, case
                    texts += 1
        assert texts > 20 * len(INPUTS) * 0.8
        assert {"one refuses", "a fault", "forbidden", "a missing filter", "a name with underscores"} <= refused

    def test_their_ids(self, tmp_path):
        place = folder(tmp_path / "t", chat_template=WHOLE)
        ours, theirs = load(place), transformers.AutoTokenizer.from_pretrained(place)
        for messages in (HELLO, TALK):
            ids = ours.chat(messages, add_generation_prompt=True)
            assert ids == theirs.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
            assert ours.decode(ids) == ours.chat(messages, tokenize=False)
            assert ids.count(ours.special_tokens["<|user|>"]) == len(messages)

    def test_a_token_that_is_added_to_every_text_is_not_added_again(self, tmp_path):
        place = folder(tmp_path / "t", chat_template=WHOLE, add_bos_token=True)
        content = json.loads((place / "tokenizer.json").read_bytes())
        token = {"id": "<pad>", "ids": [load(place).special_tokens["<pad>"]], "tokens": ["<pad>"]}
        single = [{"SpecialToken": {"id": "<pad>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        content["post_processor"] = {
            "type": "TemplateProcessing",
            "single": single,
            "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<pad>": token},
        }
        (place / "tokenizer.json").write_text(json.dumps(content), "utf-8")
        theirs = transformers.AutoTokenizer.from_pretrained(place)
        assert theirs("a").input_ids[0] == token["ids"][0]
        assert load(place).chat(HELLO) == theirs.apply_chat_template(HELLO, return_dict=False)


class TestWhichTemplate:
    @pytest.fixture
    def several(self, tmp_path):
        templates = {"default": "plain", "tool_use": "with {{ tools | length }}", "rag": "{{ documents[0].text }}"}
        return folder(
            tmp_path / "t", chat_template=[{"name": name, "template": text} for name, text in templates.items()]
        )

    def test_that_of_its_name_or_of_tools(self, several):
        ours, theirs = load(several), transformers.AutoTokenizer.from_pretrained(several)
        for given in ({}, {"tools": TOOLS}, {"tools": []}):
            expected = theirs.apply_chat_template(HELLO, tokenize=False, **given)
            assert ours.chat(HELLO, tokenize=False, **given) == expected
        assert ours.chat(HELLO, tokenize=False, name="rag", documents=[{"text": "here"}]) == "here"
        assert ours.chat(HELLO, tokenize=False, name="default", tools=TOOLS) == "plain"

    def test_another_name_is_refused_with_those_there_are(self, several):
        with pytest.raises(ConfigError, match='no chat template "other", but "default", "rag", "tool_use"'):
            load(several).chat(HELLO, name="other")

    def test_without_a_default_one_must_be_named(self, tmp_path):
        place = folder(tmp_path / "t", chat_template=[{"name": "rag", "template": "r"}])
        with pytest.raises(ConfigError, match='None of its chat templates is the default: name one of "rag"'):
            load(place).chat(HELLO)
        assert load(place).chat(HELLO, name="rag", tokenize=False) == "r"

    def test_without_any_a_sentence_says_so(self, tmp_path):
        for tokenizer in (load(folder(tmp_path / "t")), trained("abab", 258)):
            with pytest.raises(ConfigError, match="This tokenizer has no chat template"):
                tokenizer.chat(HELLO)

    def test_a_refusal_names_it(self, tmp_path):
        place = folder(tmp_path / "t", chat_template=[{"name": "strict", "template": "{{ raise_exception('No.') }}"}])
        with pytest.raises(FormatError, match=r'^The chat template "strict" refuses these messages: No\.$'):
            load(place).chat(HELLO, name="strict")


class TestMessages:
    @pytest.mark.parametrize(
        ("messages", "sentence"),
        [
            ("Hello", "Messages must be a list of mappings with \"role\" and \"content\", not a text."),
            (HELLO[0], "Messages must be a list of mappings with \"role\" and \"content\", not a mapping."),
            (None, "Messages must be a list of mappings with \"role\" and \"content\", not None."),
            ([], "There are no messages: a chat template needs one at least."),
            ([*HELLO, "Hello"], "Message 2 must be a mapping with \"role\" and \"content\", such as "
             "{\"role\": \"user\", \"content\": \"Hello\"}, not a text."),
            ([HELLO], "Message 1 must be a mapping with \"role\" and \"content\", such as "
             "{\"role\": \"user\", \"content\": \"Hello\"}, not a list."),
            ([{"role": "user", "content": b"x"}],
             "Message 1: a chat template takes texts, numbers, lists and mappings, not bytes."),
            ([{"role": "user", 1: "x"}], "Message 1: the keys of a mapping must be texts."),
        ],
    )  # fmt: skip
    def test_others_are_refused(self, messages, sentence):
        with pytest.raises(ConfigError) as error:
            variables_of(messages, None, None, False, {})
        assert str(error.value) == sentence

    def test_one_that_holds_itself_is_refused(self):
        content = []
        content.append(content)
        with pytest.raises(ConfigError, match="Message 1: a value is nested deeper than 100 times"):
            variables_of([{"role": "user", "content": content}], None, None, False, {})

    def test_tools_must_be_mappings(self):
        for tools in ("weather", [print], {"name": "weather"}):
            with pytest.raises(ConfigError, match="The tools must be a list of mappings, as JSON has them"):
                variables_of(HELLO, tools, None, False, {})

    def test_they_are_not_changed(self, renderer):
        before = json.dumps([CALLS, TOOLS])
        rendered(renderer, TEMPLATES["tools as JSON"], CALLS, TOOLS)
        assert json.dumps([CALLS, TOOLS]) == before

    def test_texts_of_any_characters_arrive_whole(self, renderer):
        text = "".join(map(chr, [*range(0x300), 0x2028, 0xFEFF, 0xE000, 0x1F600])) + "\ud83d"
        assert rendered(renderer, "{{ messages[0].content }}", [{"role": "user", "content": text}]) == text


class TestHostile:
    def test_what_reaches_out_is_refused_or_empty(self, renderer, theirs):
        for template in (
            "{{ messages.__class__.__mro__[1].__subclasses__() }}",
            "{{ ''.__class__.__base__.__subclasses__() }}",
            "{{ strftime_now.__globals__ }}{{ strftime_now.__self__.x }}",
            "{{ raise_exception.__globals__['os'] }}",
            "{{ namespace.__init__.__globals__ }}",
            "{{ dict.__call__.__globals__ }}",
            "{{ '{0.__class__.__mro__}'.format(messages) }}",
            "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
            "{{ self._TemplateReference__context.environment }}{{ self.x.y }}",
            "{{ messages.clear() }}",
            "{% include '/etc/passwd' %}",
            "{% import 'os' as os %}",
            "{{ messages | attr('__class__') | attr('x') }}",
            "{{ namespace(__class__=1) }}",
        ):
            assert refusal(renderer, template).startswith(NAME), template
            with pytest.raises(Exception):  # noqa: B017, PT011  theirs does not let it pass either
                theirs.apply_chat_template(HELLO, chat_template=template, tokenize=False)

    def test_the_sentence_has_the_line(self, renderer):
        said = refusal(renderer, "a\n{{ messages.append(1) }}")
        assert said.startswith("The chat template does what no template may (line 2): access to attribute 'append'")
        assert refusal(renderer, "a\n\n{% if %}").startswith("The chat template has a fault in line 3: ")
        said = refusal(renderer, "\n{{ messages[0].a.b }}")
        assert (
            said
            == "The chat template cannot be rendered with these messages (line 2): 'dict object' has no attribute 'a'."
        )
        assert refusal(renderer, "{{ raise_exception('Not\n  you.') }}") == (
            "The chat template refuses these messages: Not you."
        )
        assert len(refusal(renderer, "{{ raise_exception('x' * 100000) }}")) < 400

    def test_what_does_not_end_is_stopped_and_the_next_goes_on(self, renderer, monkeypatch):
        monkeypatch.setattr(chat_templates, "SECONDS", 0.05)
        for template in (
            "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
            "{{ 10 ** (10 ** 9) }}",
        ):
            assert refusal(renderer, template) == "The chat template does not end: it was stopped after 0.05 seconds."
            monkeypatch.setattr(chat_templates, "SECONDS", 60)
            assert rendered(renderer, "{{ messages[0].content }}") == "Hello"
            monkeypatch.setattr(chat_templates, "SECONDS", 0.05)

    def test_what_writes_too_much_is_stopped(self, renderer):
        for template in ("{{ 'a' * 10000000 }}", "{% for i in range(1000) %}{{ 'é' * 10000 }}{% endfor %}"):
            said = refusal(renderer, template)
            assert said == "The chat template writes more than 4,000,000 characters: it was stopped."
        assert len(rendered(renderer, "{{ 'a' * 4000000 }}")) == 4_000_000

    @pytest.mark.skipif("sys.platform != 'linux'", reason="other systems have no such limit")
    def test_what_needs_too_much_memory_is_stopped(self, renderer):
        for template in ("{{ ('a' * 10 ** 9) | length }}", "{{ (messages * 10 ** 8) | length }}"):
            said = refusal(renderer, template)
            assert said == "The chat template needs more than 512 MB of memory: it was stopped."

    def test_what_calls_itself_is_stopped(self, renderer):
        said = refusal(renderer, "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}")
        assert said == "The chat template calls itself without end: it was stopped."

    def test_deep_expressions_are_refused(self, renderer):
        assert refusal(renderer, "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}").startswith(NAME)


class TestProcess:
    def test_one_renders_all_messages_of_a_tokenizer_and_of_its_playhead(self, tmp_path, monkeypatch):
        started = started_processes(monkeypatch)
        tokenizer = load(folder(tmp_path / "t", chat_template=WHOLE))
        texts = {one.chat(HELLO, tokenize=False) for one in (tokenizer, tokenizer.at(3), tokenizer)}
        assert texts == {"<pad>user: Hello<|user|>\n"}
        assert len(started) == 1

    def test_where_none_can_start_nothing_is_rendered(self, tmp_path, monkeypatch):
        no_processes(monkeypatch)
        tokenizer = load(folder(tmp_path / "t", chat_template=WHOLE))
        with pytest.raises(FormatError, match="The chat template: no process can be started to render it"):
            tokenizer.chat(HELLO)

    def test_one_that_ends_is_told_and_another_follows(self, renderer, monkeypatch):
        renderer.close()
        started = started_processes(monkeypatch)
        endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
        work = renderer.render_work(NAME, endless, variables_of(HELLO, None, None, False, {}))
        while not started:
            next(work)
        started[0].kill()
        with pytest.raises(FormatError, match="The chat template ended the process that renders it"):
            finish(work)
        assert rendered(renderer, "{{ messages[0].content }}") == "Hello"
        assert len(started) == 2
