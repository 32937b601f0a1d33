"""What models of providers have in common."""

import pytest

from calipers.voice.adapters.model_agent import socket_address


@pytest.mark.parametrize(
    ("base", "found"),
    [
        ("https://host/v1/", "wss://host/v1"),
        ("http://host", "ws://host"),
        ("wss://host/v1", "wss://host/v1"),
        ("host", "host"),
    ],
)
def test_the_address_of_a_server_is_that_of_its_socket(base, found):
    assert socket_address(base) == found
