"""The workflows that test and release: they run nowhere here, but what they say can be read and tried in parts."""

# SPDX-License-Identifier: MIT
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tokstudio import __version__

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
needs_bash = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="the scripts are for another shell"
)


def read(name):
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def script(name):
    (step,) = (step for step in steps(read("release.yml")) if step.get("name") == name)
    return step["run"]


def run(name, folder, **variables):
    command = ["bash", "-e", "-o", "pipefail", "-c", script(name)]
    return subprocess.run(command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_step_is_pinned_or_a_script_and_every_job_waits_for_one_that_is_there(file):
    workflow = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        needs = job.get("needs", [])
        assert {needs} if isinstance(needs, str) else set(needs) <= set(workflow["jobs"])
    for step in steps(workflow):
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])


@needs_bash
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_script_can_be_read_by_the_shell(file):
    for step in steps(yaml.safe_load(file.read_text(encoding="utf-8"))):
        # What stands in double braces is put in before the shell reads it.
        text = re.sub(r"\$\{\{.*?\}\}", "value", step.get("run", ""))
        checked = subprocess.run(["bash", "-n", "-c", text], capture_output=True, text=True)
        assert (checked.returncode, checked.stderr) == (0, ""), text


def test_pushes_and_pull_requests_are_tested_on_every_system_with_every_python():
    workflow = read("tests.yml")
    # YAML reads the key `on` as true.
    assert set(workflow[True]) == {"push", "pull_request"}
    (job,) = workflow["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {system.split("-")[0] for system in job["strategy"]["matrix"]["os"]} == {"ubuntu", "windows", "macos"}
    assert job["steps"][-1]["run"] == "python packaging/dev.py test"


def test_the_site_is_built_for_every_pull_request_and_published_from_main_alone():
    workflow = read("docs.yml")
    assert workflow[True] == {"push": {"branches": ["main"]}, "pull_request": None}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert "python packaging/dev.py docs" in [step.get("run") for step in build["steps"]]
    assert publish["if"] == "github.event_name == 'push'"
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert all("permissions" not in job for name, job in workflow["jobs"].items() if name != "publish")


def test_the_forms_of_issues_and_the_citation_can_be_read():
    for name in ("bug", "wish"):
        form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= set(form)
        assert all(field["attributes"]["label"] for field in form["body"])
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["repository-code"] == project["urls"]["Homepage"]
    assert citation["license"] == project["license"]


def test_the_wheel_of_the_index_is_for_all_systems():
    (step,) = (step for step in steps(read("release.yml")) if "hatchling build" in step.get("run", ""))
    assert step["env"] == {"TOKSTUDIO_WITHOUT_LOOPS": "1"}


@needs_bash
def test_a_tag_that_is_not_the_version_stops_the_release():
    told = run("The tag is the version", ROOT, GITHUB_REF_TYPE="tag", GITHUB_REF_NAME="v9.9.9")
    assert told.returncode == 1
    assert f"The tag is v9.9.9, but the version is {__version__}." in told.stdout
    assert run("The tag is the version", ROOT, GITHUB_REF_TYPE="tag", GITHUB_REF_NAME=f"v{__version__}").returncode == 0
    assert run("The tag is the version", ROOT, GITHUB_REF_TYPE="branch", GITHUB_REF_NAME="main").returncode == 0
    jobs = read("release.yml")["jobs"]
    assert all("needs" in job for name, job in jobs.items() if name != "version")


@needs_bash
def test_the_appimage_has_its_program_where_it_starts(tmp_path):
    program = tmp_path / "build/deb/usr/lib/tokstudio/tokstudio"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho started\n")
    program.chmod(0o755)
    (tmp_path / "build/deb/usr/bin").mkdir()
    (tmp_path / "build/deb/usr/bin/tokstudio").symlink_to("../lib/tokstudio/tokstudio")
    for name in ("packaging/linux/tokstudio.desktop", "resources/icons/tokstudio.svg"):
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    for _ in range(2):
        laid = run("Lay out the AppImage", tmp_path)
        assert laid.returncode == 0, laid.stderr
    folder = tmp_path / "build/AppDir"
    assert subprocess.check_output([folder / "AppRun"], text=True) == "started\n"
    assert {"AppRun", "tokstudio.desktop", "tokstudio.svg", "usr"} == {file.name for file in folder.iterdir()}


@needs_bash
@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the runner's program for sums is not here")
def test_the_sums_are_of_everything_that_is_released(tmp_path):
    names = {"a.whl", "b.tar.gz", "c.deb", "d-setup.exe", "e.dmg"}
    (tmp_path / "dist").mkdir()
    for name in names:
        (tmp_path / "dist" / name).write_text(name)
    summed = run("Sum everything up", tmp_path)
    assert summed.returncode == 0, summed.stderr
    lines = (tmp_path / "dist" / "SHA256SUMS").read_text().splitlines()
    assert {line.split()[1] for line in lines} == names


def test_the_package_index_is_reached_by_trusted_publishing_alone():
    job = read("release.yml")["jobs"]["index"]
    assert job["permissions"] == {"id-token": "write"}
    assert job["environment"]["name"] == "pypi"
    assert job["if"] == "github.ref_type == 'tag'"
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
