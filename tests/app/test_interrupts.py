"""Interrupts while a run ends: one is let pass, two are not, and whoever answers them otherwise goes on to do so."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from foldwise.app.interrupts import finish_despite_interrupt
from foldwise.app.workers.executors import open_executor


@pytest.fixture(autouse=True)
def answered_by_python():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_one_interrupt_passes_and_the_next_does_not():
    with finish_despite_interrupt():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_after_an_interrupt_none_passes():
    with finish_despite_interrupt(interrupted=True), pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_somebody_else_is_kept():
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    with finish_despite_interrupt():
        signal.raise_signal(signal.SIGINT)
    assert heard == [signal.SIGINT]


def test_a_thread_changes_nothing():
    def work():
        with finish_despite_interrupt():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fit", "foldwise: interrupted before there was a result to save.\n"),
        ("inspect", "foldwise: interrupted.\n"),
    ],
)
def test_an_interrupt_before_any_command_is_told_in_a_sentence(command, sentence):
    code = "import sys, foldwise.app.cli as cli\ndef stop(): raise KeyboardInterrupt\ncli.run = stop\ncli.main()"
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == sentence


def test_workers_can_be_closed_twice():
    pool = open_executor(1)
    pool.close()
    pool.close()


@pytest.mark.parametrize("before", ["", "signal.signal(signal.SIGINT, signal.SIG_IGN)"])
def test_being_ended_is_an_interrupt(before):
    """Also in the background of a script, where interrupts are ignored."""
    code = (
        f"import os, signal, time, foldwise.app.cli as cli\n{before}\n"
        "def stop(): os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)\n"
        "cli.run = stop\ncli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
