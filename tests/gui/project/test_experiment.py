"""Experiments of the window: what it saves gives the same merges without it, and what it opens is in the file."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from tests.gui.person import at_window, drop, quiet
from tests.gui.project.behind import BOOK, Behind
from tokstudio import cli, load_experiment, train
from tokstudio.core.base.progress import finish
from tokstudio.core.corpus.leaving_out import LeavingOut
from tokstudio.core.model.algorithms import ALGORITHMS
from tokstudio.core.project import open_work
from tokstudio.gui.dialogs.train_several.dialog import TrainSeveralDialog
from tokstudio.gui.project.experiment import ExperimentFiles, text_work
from tokstudio.gui.session.preferences import Preferences
from tokstudio.gui.state.training_plans import TrainingPlan
from tokstudio.gui.state.training_settings import Settings

#: The settings of each algorithm that make all of it be at work.
OWN = {
    "parity": {"global_merges": 2, "window": 5, "ratios": (("rat", 1.5),)},
    "superbpe": {"transition": 280},
    "picky": {"threshold": 0.4},
}


class Window(Behind):
    """A session with experiments."""

    def __init__(self, qtbot, folder, paths=()):
        super().__init__(qtbot, paths)
        self.folder, self.plans, self.said = folder, [], []
        self.session.jobs.refused.connect(self.said.append)
        self.session.jobs.told.connect(self.said.append)
        self.files = ExperimentFiles(
            self.session, Preferences(), self.answers, lambda *shown: self.plans.append(shown), self.session
        )

    def save(self, name="e.toml"):
        self.answers.target = self.folder / name
        self.files.save()
        self.wait()
        return self.folder / name

    def open(self, path):
        self.files.open(path)
        self.wait()


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "cat.txt").write_text(BOOK)
    (folder / "rat.jsonl").write_text("".join(f'{{"text": "ein Tier {n} auf der Matte"}}\n' for n in range(90)))
    return folder


@pytest.fixture
def window(qtbot, home):
    made = Window(qtbot, home, [home / "cat.txt", home / "rat.jsonl"])
    yield made
    made.session.close()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_experiment_of_each_algorithm_gives_the_same_merges_by_the_command_line_elsewhere(
    window, home, tmp_path, monkeypatch, algorithm, capsys
):
    corpus = window.session.corpus
    corpus.add_text("pasted text, pasted text and more text. " * 9)
    corpus.set_weights((1000, 2500, 3000))
    settings = Settings(320, pattern="gpt2", special_tokens=("<|a|>",), documents="line", held_out=0.1)
    settings = replace(settings.with_algorithm(algorithm, Settings()), **OWN.get(algorithm, {}))
    if algorithm == "parity":
        settings = replace(settings, ratios=(("rat.jsonl", 1.5),))
    window.session.training.set_settings(settings)
    window.wait()
    window.session.training.start()
    window.wait()
    run = window.session.runs.active.run
    path = window.save()
    assert load_experiment(path).result.trainings[0].merges == len(run) >= 63
    shutil.move(home, tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["run", "--check", "moved/e.toml"]) == 0
    assert capsys.readouterr().out == f"The same texts and the same result: {len(run)} merges.\n"
    # And by the library.
    again = load_experiment(tmp_path / "moved" / "e.toml")
    assert train(again.corpus(), again.config).run.merges.tolist() == run.merges.tolist()


def test_parallel_texts_are_stored_beside_it(window, home, tmp_path):
    parallel = (("cat.txt", "the cat\nthe rat\n"), ("rat.jsonl", "die Katze\ndie Ratte\n"))
    window.session.training.set_settings(Settings(300, algorithm="parity", tie_break="bytes", parallel=parallel))
    path = window.save()
    shutil.move(home, tmp_path / "moved")
    experiment = load_experiment(tmp_path / "moved" / path.name)
    assert experiment.config.algorithm.parallel == parallel
    window.open(tmp_path / "moved" / path.name)
    assert window.session.training.settings.parallel == parallel


def test_what_is_saved_is_opened_and_undo_takes_it_back(window, home, qtbot):
    corpus = window.session.corpus
    corpus.set_weights((500, 2000))
    corpus.leave_out(LeavingOut((("repeated-lines", 20.0),), ((1, 0, 5),)))
    settings = Settings(None, 3, forbidden=("x",), max_token_bytes=9, tie_break="bytes", held_out=0.25)
    window.session.training.set_settings(settings)
    window.wait()
    path = window.save()
    assert load_experiment(path).result is None
    assert load_experiment(path).corpus().sha256 == corpus.current.sha256
    other = Window(qtbot, home)
    other.session.corpus.add_text("another text")
    other.open(path)
    assert other.answers.asked == ["The corpus and the settings will be replaced by those of e.toml."]
    opened = other.session.corpus
    assert (other.session.training.settings, opened.weights) == (settings, corpus.weights)
    assert (opened.left_out, opened.current.sha256) == (corpus.left_out, corpus.current.sha256)
    assert [source.name for source in opened.sources] == ["cat.txt", "rat.jsonl"]
    other.session.history.undo()
    assert [source.name for source in opened.sources] == ["Pasted text"]
    assert other.session.training.settings == Settings()
    other.answers.yes = False
    other.open(path)
    assert [source.name for source in opened.sources] == ["Pasted text"]
    assert not other.problems
    other.session.close()


def test_a_result_is_saved_only_of_the_run_that_it_is_of(window):
    def has_result():
        return load_experiment(window.save()).result is not None

    window.train(280)
    assert has_result()
    window.session.training.set_settings(Settings(281))
    assert not has_result()
    window.session.training.set_settings(Settings(280))
    window.session.corpus.set_weights((2000, 1000))
    assert not has_result()
    window.session.corpus.set_weights((1000, 1000))
    assert has_result()
    window.session.corpus.remove_sources([1])
    window.wait()
    assert not has_result()


def test_merges_of_others_beside_it_are_not_replaced(window, home):
    window.train(280)
    (home / "e.merges").write_text("mine")
    path = window.save()
    assert window.problems.pop().startswith("e.merges: this file exists already, and is not of the [result] in e.toml")
    assert not path.exists()
    window.session.training.set_settings(Settings(281))
    window.save()  # without a result
    assert load_experiment(path).result is None
    window.session.training.set_settings(Settings(280))
    window.save()
    assert window.problems.pop().startswith("e.merges: this file exists already")
    assert (load_experiment(path).result, (home / "e.merges").read_text()) == (None, "mine")


def test_merges_of_its_own_are_replaced_and_go_with_its_result(window, home, qtbot):
    merges = home / "e.merges"
    window.train(280)
    path = window.save()
    result = load_experiment(path).result
    assert result.trainings[0].merges == 24
    # Opened and saved unchanged, it keeps its result, though nothing was trained.
    other = Window(qtbot, home)
    other.open(path)
    other.save()
    assert (load_experiment(path).result, merges.exists(), other.said[-1]) == (result, True, "Saved e.toml.")
    other.session.close()
    window.train(290)
    window.save()
    assert load_experiment(path).result.trainings[0].merges == len(merges.read_text().splitlines()) == 34
    window.session.training.set_settings(Settings(300))
    window.save()
    assert window.said[-1] == "Saved e.toml. Its earlier result is removed, with its merges in e.merges."
    assert (load_experiment(path).result, merges.exists()) == (None, False)
    window.train(300)
    window.save()
    assert load_experiment(path).result.trainings[0].merges == 44
    # What was edited is no longer its own.
    merges.write_text("mine")
    window.session.training.set_settings(Settings(310))
    window.save()
    assert window.said[-1] == "Saved e.toml. Its earlier result is removed."
    assert merges.read_text() == "mine"


def test_several_trainings_are_variants_and_are_shown_again(window, home):
    settings = Settings(300, pattern="gpt2")
    plans = [
        TrainingPlan(settings),
        TrainingPlan(replace(settings, pattern="none", min_frequency=3), 50),
        TrainingPlan(replace(settings.with_algorithm("superbpe", Settings()), transition=280)),
        TrainingPlan(Settings(90, algorithm="sentencepiece-unigram")),
    ]
    window.answers.target = home / "e.toml"
    window.files.save_plans(plans)
    window.wait()
    experiment = load_experiment(home / "e.toml")
    assert [training.sample_percent for training in experiment.trainings] == [None, 50, None, None]
    window.open(home / "e.toml")
    ((shown, remark),) = window.plans
    assert remark == "The trainings of e.toml."
    assert [plan.percent for plan in shown] == [100, 50, 100, 100]
    assert [each.settings._built for each in shown] == [each.settings._built for each in plans]


def test_rows_with_weights_are_saved_and_shown_again(window, home):
    settings = Settings(300, pattern="gpt2")
    plans = [TrainingPlan(settings, weights="1, 0.125"), TrainingPlan(settings), TrainingPlan(settings, 50, "0, 3")]
    window.session.corpus.set_weights((2000, 1000))
    window.answers.target = home / "e.toml"
    window.files.save_plans(plans)
    window.wait()
    experiment = load_experiment(home / "e.toml")
    assert [training.weights for training in experiment.trainings] == [(1, 0.125), (), (0, 3)]
    window.open(home / "e.toml")
    assert [(plan.percent, plan.weights) for plan in window.plans[0][0]] == [(100, "1, 0.125"), (100, ""), (50, "0, 3")]
    assert window.session.corpus.weights == (2000, 1000)
    # A single training has the weights of its sources.
    window.files.save_plans([TrainingPlan(settings, weights="1, 0.125")])
    window.wait()
    assert load_experiment(home / "e.toml").corpus().weights == (1000, 125)
    window.files.save_plans([TrainingPlan(settings, weights="1, x"), TrainingPlan(settings)])
    assert window.said[-1].startswith("Weights are numbers with commas")
    many = [TrainingPlan(settings, weights=f"1, {number}") for number in range(2)]
    window.files.save_plans(many)
    window.wait()
    assert [each.name for each in load_experiment(home / "e.toml").trainings] == ["weights 1, 0", "weights 1, 1"]


def test_what_only_the_command_line_does_is_said_and_stays_in_the_file(window, home):
    path = window.save()
    export = "[[export]]\nformat = 'tiktoken'\npath = 'out/x.tiktoken'\n"
    path.write_text(f"{path.read_text()}\n{export}[output]\nproject = 'p.tokstudio'\naccept_loss = true\n")
    window.open(path)
    assert "Only tokstudio run makes 1 export and the project of e.toml." in window.said
    window.session.training.set_settings(Settings(333))
    window.save()
    again = load_experiment(path)
    assert again.trainings[0].settings["vocabulary_size"] == 333
    assert again.trainings[0].exports == (("tiktoken", "out/x.tiktoken"),)
    assert (again.project, again.accept_loss) == ("p.tokstudio", True)


def test_what_cannot_be_saved_or_opened_is_said(window, home, tmp_path):
    path = window.save()
    text = path.read_text()
    for old, new, says in [
        ("size = 1000", "size = 'x'", 'e.toml, line 15: vocabulary_size must be a whole number, not "x".'),
        ("size = 1000", "size = 3", "e.toml, line 15: Vocabulary size must be greater than 256."),
        ("cat.txt", "gone.txt", "gone.txt: no such file"),
    ]:
        path.write_text(text.replace(old, new))
        window.open(path)
        assert says in window.problems.pop()
    staged = 'algorithm = "superbpe"\ntransition = 400\nsecond_pattern = "gpt2"'
    path.write_text(text.replace('algorithm = "bpe"', staged).replace('pattern = "none"', 'pattern = "gpt2"', 1))
    window.open(path)
    assert window.problems == ["e.toml, line 12: the window has no field for second_pattern: train with tokstudio run."]
    assert window.session.training.settings == Settings()
    window.session.training.set_settings(Settings(3))
    window.save("other.toml")
    assert window.said[-1] == "Vocabulary size must be greater than 256."
    assert not (home / "other.toml").exists()
    window.session.training.set_settings(Settings())
    (tmp_path / "other").mkdir()
    window.answers.target = tmp_path / "other" / "far.toml"
    window.files.save()
    window.wait()
    assert window.said[-1].startswith("Saved far.toml. far.toml names ")


@pytest.mark.usefixtures("unstyled")
@at_window("{book}")
def test_it_is_saved_from_the_menu_and_from_train_several_and_opened_where_it_is_dropped(qtbot, book, window, answers):
    quiet(qtbot, window)
    answers.target = book.with_name("e.toml")
    window.actions_by_id["save_experiment"].trigger()
    quiet(qtbot, window)
    assert load_experiment(answers.target).result is None
    window.actions_by_id["clear_corpus"].trigger()
    assert not window.actions_by_id["save_experiment"].isEnabled()
    drop(window, answers.target)
    qtbot.waitUntil(lambda: len(window.session.corpus.sources) == 1)
    assert (answers.target, "experiment") in window.preferences.recent
    quiet(qtbot, window)
    window.actions_by_id["train_several"].trigger()
    dialog = next(one for one in window.findChildren(TrainSeveralDialog) if one.isVisible())
    dialog.duplicate_button.click()
    assert not dialog.save_button.isEnabled()
    dialog.model.setData(dialog.model.index(1, 2), 400)
    dialog.save_button.click()
    quiet(qtbot, window)
    sizes = [training.settings["vocabulary_size"] for training in load_experiment(answers.target).trainings]
    assert sizes == [1000, 400]
    dialog.reject()
    # Opened from the list of recent files, several trainings are shown.
    window.opening.open_recent(answers.target, "experiment")
    qtbot.waitUntil(lambda: any(one.isVisible() for one in window.findChildren(TrainSeveralDialog)))
    dialog = next(one for one in window.findChildren(TrainSeveralDialog) if one.isVisible())
    assert [plan.settings.vocabulary_size for plan in dialog.model.plans] == [1000, 400]
    dialog.reject()


def test_a_project_and_a_report_hold_the_same_text(window, home):
    window.train(280)
    text = window.save("experiment.toml").read_text()
    described = text.partition("\n[result]")[0].rstrip("\n")
    window.answers.target = home / "p.tokstudio"
    window.projects.save_as()
    window.wait()
    assert finish(open_work(home / "p.tokstudio")).state["experiment"].rstrip("\n") == described
    settings = Settings(3)
    corpus = window.session.corpus.current
    assert finish(text_work(home, corpus, settings, LeavingOut())) == ""
    page = finish(text_work(home, corpus, window.session.training.settings, LeavingOut()))
    assert page.rstrip("\n") == described
