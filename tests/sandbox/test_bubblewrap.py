from calipers.sandbox.confinement import bubblewrap_command


def wrapped(**changes):
    options = {
        "bubblewrap": "/usr/bin/bwrap",
        "readable": ["/opt/python"],
        "folder_bytes": 1000,
        "environment": {"HOME": "/tmp"},
        "root": False,
    }
    return bubblewrap_command(["program", "--flag"], **{**options, **changes})


def pairs(arguments, option):
    return [arguments[index + 1] for index, argument in enumerate(arguments) if argument == option]


def test_the_command_stands_unchanged_behind_a_separator():
    assert wrapped()[-3:] == ["--", "program", "--flag"]
    assert wrapped()[0] == "/usr/bin/bwrap"


def test_network_and_processes_are_always_its_own():
    for root in (True, False):
        assert {"--unshare-net", "--unshare-pid", "--die-with-parent", "--clearenv"} <= set(
            wrapped(root=root)
        )


def test_a_plain_user_gets_a_user_namespace_and_no_rights():
    assert "--unshare-user" in wrapped(root=False)
    assert pairs(wrapped(root=False), "--cap-add") == []


def test_root_keeps_only_the_rights_to_step_down():
    assert "--unshare-user" not in wrapped(root=True)
    assert pairs(wrapped(root=True), "--cap-drop") == ["ALL"]
    assert pairs(wrapped(root=True), "--cap-add") == ["CAP_SETUID", "CAP_SETGID", "CAP_CHOWN", "CAP_KILL"]


def test_a_readable_folder_is_mounted_after_the_private_folders_that_may_hold_it():
    arguments = wrapped(readable=["/tmp/python"])
    assert arguments.index("/tmp/python") > arguments.index("--tmpfs")
    assert arguments[arguments.index("/tmp/python") - 1] == "--ro-bind"


def test_a_folder_within_usr_is_not_mounted_twice():
    assert "/usr/local" not in wrapped(readable=["/usr/local"])
    assert pairs(wrapped(readable=["/usr-local"]), "--ro-bind")[-1] == "/usr-local"


def test_folders_above_a_readable_one_are_open_to_every_user():
    assert pairs(wrapped(readable=["/root/a/b"]), "--dir") == ["/etc", "/root", "/root/a"]
    assert wrapped(readable=["/root/a/b"]).count("0755") == 3


def test_every_private_folder_has_its_size_limited():
    arguments = wrapped()
    assert arguments.count("--tmpfs") == 2
    assert pairs(arguments, "--size") == ["1000", "1000"]
