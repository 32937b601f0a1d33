"""What the tests of dataset files share."""

import pytest

from calipers.errors import DatasetFileError


@pytest.fixture
def write(tmp_path):
    """Writes a file, and gives its path."""

    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture
def shown():
    """Shows problems as text, each with the bare name of its file."""

    def show(problems):
        return [
            f"{problem.file.rpartition('/')[2]}{str(problem).removeprefix(problem.file)}"
            for problem in problems
        ]

    return show


@pytest.fixture
def problems_of(shown):
    """Calls a function that raises, and shows the problems in its error."""

    def call(function, *args, **kwargs):
        with pytest.raises(DatasetFileError) as caught:
            function(*args, **kwargs)
        return shown(caught.value.problems)

    return call
