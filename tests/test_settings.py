"""Settings: four layers become one value, and every mistake is named where it stands."""

from pathlib import Path

import pytest
from blockbuster import BlockingError

from bridge.errors import InvalidSetting
from bridge.settings import SETTINGS, data_dir, load, models_dir, value_of


def write(file: Path, text: str) -> Path:
    file.write_text(text, "utf-8")
    return file


def test_flag_beats_environment_beats_file_beats_default(tmp_path: Path) -> None:
    """Each layer wins over the one before, and each value says where it came from."""
    file = write(
        tmp_path / "t.toml",
        '[server]\nhost = "::1"\nport = 1\n[data]\nkeep_days = 3\n[embedding]\nmodel = "none"\n',
    )
    environ = {"TRANSOM_SERVER_PORT": "2", "TRANSOM_DATA_KEEP_DAYS": "4"}
    settings = load(file, {"data.keep_days": 5, "data.keep_mb": None}, environ)

    assert ("::1", 2, 5, 512) == (
        settings.server.host,
        settings.server.port,
        settings.data.keep_days,
        settings.data.keep_mb,
    )
    assert {
        "server.host": str(file),
        "server.port": "TRANSOM_SERVER_PORT",
        "data.keep_days": "command line",
        "embedding.model": str(file),
    } == dict(settings.origins)


def test_the_first_file_found_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--config`, then transom.toml here, then the person's own; never two of them."""
    here, config = tmp_path / "here", tmp_path / "config"
    (config / "transom").mkdir(parents=True)
    here.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    monkeypatch.chdir(here)

    assert load(environ={}).file is None
    own = write(config / "transom" / "transom.toml", "[server]\nport = 1\n")
    assert (own, 1) == (load(environ={}).file, load(environ={}).server.port)
    near = write(here / "transom.toml", "[data]\nkeep_mb = 2\n")
    assert (near, 8484) == (load(environ={}).file, load(environ={}).server.port)
    given = write(tmp_path / "other.toml", "")
    assert given == load(given, environ={}).file


def test_paths_start_where_they_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path in a file is relative to that file, a flag's to the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etc").mkdir()
    file = write(tmp_path / "etc" / "t.toml", '[vault]\npath = "notes"\n')

    assert tmp_path / "etc" / "notes" == load(file, environ={}).vault.path
    assert tmp_path / "notes" == load(None, {"vault.path": "notes"}, {}).vault.path
    assert Path.home() / "notes" == load(None, {"vault.path": "~/notes"}, {}).vault.path


def test_a_secret_is_read_from_value_file_or_environment_and_never_shown(tmp_path: Path) -> None:
    """Every secret has three ways in, and none into a printed value."""
    secret_file = write(tmp_path / "pw", "hunter2\n")
    file = write(tmp_path / "t.toml", '[livesync]\nurl = "http://couch:5984"\npassword_file = "pw"\n')
    settings = load(file, environ={"TRANSOM_EMBEDDING_API_KEY_FILE": str(secret_file)})

    assert "hunter2" == settings.livesync.password == settings.embedding.api_key
    assert "hunter2" not in repr(settings)
    assert "swordfish" == load(file, environ={"TRANSOM_LIVESYNC_PASSWORD": "swordfish"}).livesync.password


def test_defaults_that_follow_from_others(tmp_path: Path) -> None:
    """The vault is named after its folder, LiveSync pulls once it has an address."""
    settings = load(
        None,
        {"vault.path": tmp_path / "My notes", "livesync.url": "https://couch", "livesync.passphrase": "p"},
        {},
    )

    assert ("My notes", "pull", "p") == (
        settings.vault.name,
        settings.livesync.mode,
        settings.livesync.obfuscation_passphrase,
    )
    assert "off" == load(environ={}).livesync.mode


def test_lists_come_from_toml_and_from_commas(tmp_path: Path) -> None:
    """An environment variable lists by commas; an empty one counts as not set."""
    file = write(tmp_path / "t.toml", '[vault]\nexclude = ["a/**", "b"]\n')

    assert ("a/**", "b") == load(file, environ={"TRANSOM_VAULT_EXCLUDE": ""}).vault.exclude
    assert ("c", "d e") == load(file, environ={"TRANSOM_VAULT_EXCLUDE": "c, d e"}).vault.exclude


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[server]\nprot = 1\n",
            "server.prot is not the name of a setting in {file}. Did you mean server.port?",
        ),
        ("[sever]\nport = 1\n", "sever is not the name of a section in {file}. Did you mean server?"),
        ("port = 1\n", "port is not the name of a section in {file}."),
        ("[server]\nport = 70000\n", "server.port must be a whole number 0 to 65535, not 70000 ({file})."),
        ("[server]\nport = true\n", "server.port must be a whole number 0 to 65535, not True ({file})."),
        ("[data]\nkeep_days = 0\n", "data.keep_days must be a whole number of 1 or more, not 0 ({file})."),
        ("[vault]\npath = 1\n", "vault.path must be a text, not 1 ({file})."),
        ("[vault]\ninclude = [1]\n", "vault.include must be a list of texts, not [1] ({file})."),
        ("[livesync]\npassword = 1\n", "livesync.password must be a text ({file})."),
        (
            '[livesync]\nmode = "push"\n',
            "livesync.mode must be one of off, pull, two-way, not 'push' ({file}).",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    """One sentence says which key, in which file, and what it should be."""
    file = write(tmp_path / "t.toml", text)
    with pytest.raises(InvalidSetting) as caught:
        load(file, environ={})

    assert sentence.format(file=file) == str(caught.value)


@pytest.mark.parametrize(
    "flags",
    [
        {"livesync.mode": "two-way"},
        {"livesync.url": "ftp://couch"},
        {"livesync.url": "https://me:pw@couch"},
        {"embedding.model": "openai:small"},
        {"server.tls_cert": "a.pem"},
        {"server.timezone": "Mars/Olympus"},
        {"server.timezone": "../../etc/passwd"},
    ],
)
def test_settings_that_contradict_one_another_are_refused(flags: dict[str, str]) -> None:
    """What could not work is said before anything starts."""
    with pytest.raises(InvalidSetting):
        load(None, flags, {})


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    """A missing or broken file, a missing secret and a doubled one are sentences, not traces."""
    broken = write(tmp_path / "broken.toml", "[server\n")
    both = write(tmp_path / "both.toml", '[embedding]\napi_key = "a"\napi_key_file = "b"\n')
    gone = write(tmp_path / "gone.toml", '[embedding]\napi_key_file = "nowhere"\n')

    for file in (broken, both, gone, tmp_path / "absent.toml"):
        with pytest.raises(InvalidSetting):
            load(file, environ={})


def test_an_environment_variable_with_a_typo_is_refused() -> None:
    """Variables of ours that mean nothing are named; those of others are left alone."""
    with pytest.raises(InvalidSetting, match=r"Did you mean server\.port"):
        load(environ={"TRANSOM_SERVER_PROT": "1"})

    assert {} == dict(load(environ={"TRANSOM_LOG": "json", "SERVER_PORT": "1"}).origins)


def test_each_vault_has_its_own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two vaults of one name differ; a link to a vault is that vault; a given folder is used as it is."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    one, two, link = tmp_path / "a" / "Notes", tmp_path / "b" / "Notes", tmp_path / "link"
    for folder in (one, two):
        folder.mkdir(parents=True)
    link.symlink_to(one)
    folders = [data_dir(load(None, {"vault.path": path}, {})) for path in (one, two, link)]

    assert folders[0] != folders[1]
    assert folders[0] == folders[2]
    assert folders[0].parent == tmp_path / "data" / "transom"
    assert folders[0].name.startswith("Notes-")
    assert tmp_path / "x" == data_dir(load(None, {"data.path": tmp_path / "x"}, {}))


def test_without_a_vault_the_sentence_says_how_to_name_one() -> None:
    """The three ways to name a vault are in the error."""
    with pytest.raises(InvalidSetting, match=r"--vault, TRANSOM_VAULT_PATH or"):
        data_dir(load(environ={}))


def test_the_models_folder_can_be_moved() -> None:
    """One variable moves the models, for machines whose home is small."""
    assert Path("/m") == models_dir({"TRANSOM_MODELS_DIR": "/m"})


def test_every_setting_has_a_default_that_it_accepts_and_a_sentence() -> None:
    """The list that documentation is made from agrees with the values."""
    settings = load(environ={})

    assert 33 == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.default == value_of(settings, setting)
        assert setting.help.endswith(".")


async def test_reading_settings_on_the_event_loop_is_caught(tmp_path: Path) -> None:
    """The net under every test works: our code may not read a file on the loop."""
    file = write(tmp_path / "t.toml", "")
    with pytest.raises(BlockingError):
        load(file, environ={})
