"""A properties file of Kafka's own tools, as settings of librdkafka."""

from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("javaproperties", reason="the extra kafka is not installed")

from compare.reading.kafka_live.settings import Settings, read_settings
from protocols import UserError

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PEM = "-----BEGIN CERTIFICATE-----\nTUlJ\n-----END CERTIFICATE-----\n"
SECRETS = ("s3cret", "k3y-s3cret", "st0re-s3cret")


@pytest.fixture
def stores(tmp_path: Path) -> Mapping[str, Path]:
    """Files that begin as the stores of their kind do."""
    contents = {
        "pem": PEM.encode(),
        "p12": b"\x30\x82\x09\x5e\x02\x01\x03",
        "jks": b"\xfe\xed\xfe\xed\x00\x00\x00\x02",
        "txt": b"hello",
    }
    for ending, content in contents.items():
        (tmp_path / f"store.{ending}").write_bytes(content)
    return {ending: tmp_path / f"store.{ending}" for ending in contents}


def read(folder: Path, *lines: str) -> Settings:
    file = folder / "client.properties"
    file.write_bytes("\n".join(lines).encode("latin-1"))
    return read_settings(file)


def refusal(folder: Path, *lines: str) -> str:
    with pytest.raises(UserError) as refused:
        read(folder, *lines)
    line = str(refused.value)
    assert line.startswith(str(folder / "client.properties"))
    assert "\n" not in line
    assert not any(secret in line for secret in SECRETS)
    return line.removeprefix(str(folder / "client.properties"))


def login(module: str = PLAIN, options: str = 'username="alice" password="s3cret"', end: str = ";") -> str:
    return f"sasl.jaas.config={module} required {options}{end}"


def test_an_empty_file_means_a_plain_connection(tmp_path: Path) -> None:
    settings = read(tmp_path, "# nothing")
    assert settings.values == {"security.protocol": "PLAINTEXT"}
    assert settings.passed_over is None


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", PLAIN), ("SCRAM-SHA-256", SCRAM), ("SCRAM-SHA-512", f"shaded.{SCRAM}")]
)
def test_logins(mechanism: str, module: str, tmp_path: Path) -> None:
    settings = read(tmp_path, "security.protocol = sasl_plaintext", f"sasl.mechanism={mechanism}", login(module))
    assert settings.values == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": "alice",
        "sasl.password": "s3cret",
    }
    assert "s3cret" in settings.secrets
    assert "s3cret" not in repr(settings)


def test_passwords_are_read_as_java_reads_them(subtests: pytest.Subtests, tmp_path: Path) -> None:
    """First the properties file has its escapes, then the text within it."""
    for written, password in [
        ('"s3cret;with=signs required"', "s3cret;with=signs required"),
        (r'"quote\\" backslash\\\\ tab\\t octal\\101"', 'quote" backslash\\ tab\t octalA'),
        ("'single \"quotes\"'", 'single "quotes"'),
        ("word-1.x", "word-1.x"),
        ('"M\xfcller"', "Müller"),
        ('"\\u8ba2"', "订"),
    ]:
        with subtests.test(written=written, password=password):
            lines = [
                "security.protocol=SASL_SSL",
                "sasl.mechanism=PLAIN",
                login(options=f"username=alice password={written}"),
            ]
            assert read(tmp_path, *lines).values["sasl.password"] == password


def test_a_login_may_run_over_several_lines(tmp_path: Path) -> None:
    text = login(options='\\\n    username="alice" \\\n    password="s3cret" \\\n    extra="x"')
    settings = read(tmp_path, "security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN", text, "client.id=me", "x=1")
    assert settings.values["sasl.username"] == "alice"
    assert settings.values["client.id"] == "me"
    assert settings.passed_over is not None
    assert settings.passed_over.line == 8


def test_a_login_that_cannot_be_read_is_refused_without_quoting_it(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for line, expected in [
        (login(end=""), " line 3: sasl.jaas.config cannot be read, expected PlainLoginModule required"),
        (login(options='username="alice password="s3cret"'), "cannot be read"),
        (login(SCRAM), "another login module, expected for PLAIN: PlainLoginModule"),
        (login(options='username="alice"'), "lacks username or password"),
        (login(options='username="alice" password=""'), "lacks username or password"),
        (login(options='username=a password=s3cret tokenauth="true"'), "delegation tokens"),
        ("", "sasl.jaas.config is missing"),
    ]:
        with subtests.test(line=line, expected=expected):
            assert expected in refusal(tmp_path, "security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", line)


@pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM"])
def test_mechanisms_that_nobody_offers_here_are_refused(mechanism: str, tmp_path: Path) -> None:
    line = refusal(tmp_path, "security.protocol=SASL_SSL", f"sasl.mechanism={mechanism}", login())
    assert line == f" line 2: sasl.mechanism is {mechanism}, expected PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
    # Java's own choice where the file makes none.
    assert "sasl.mechanism is GSSAPI" in refusal(tmp_path, "security.protocol=SASL_SSL", login())


def test_a_login_counts_only_where_the_protocol_has_one(tmp_path: Path) -> None:
    settings = read(tmp_path, "security.protocol=SSL", "sasl.mechanism=GSSAPI", login())
    assert not any(each.startswith("sasl.") for each in settings.values)
    assert any("s3cret" in each for each in settings.secrets)


def test_a_protocol_that_there_is_not_is_refused(tmp_path: Path) -> None:
    line = refusal(tmp_path, "security.protocol=TLS")
    assert line == " line 1: expected PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL"


def tls(folder: Path, *lines: str) -> Mapping[str, str]:
    values = dict(read(folder, "security.protocol=SSL", *lines).values)
    del values["security.protocol"]
    return values


def test_trust_stores(stores: Mapping[str, Path], tmp_path: Path) -> None:
    checked = {"ssl.endpoint.identification.algorithm": "https"}
    assert tls(tmp_path) == checked
    assert tls(tmp_path, f"ssl.truststore.location={stores['pem']}") == {
        "ssl.ca.location": str(stores["pem"]),
        **checked,
    }
    within = "ssl.truststore.certificates=" + PEM.strip().replace("\n", " \\\n")
    assert tls(tmp_path, within) == {"ssl.ca.pem": PEM, **checked}


def test_several_certificates_within_the_file(tmp_path: Path) -> None:
    assert tls(tmp_path, "ssl.truststore.certificates=" + (PEM * 2).replace("\n", "\\n"))["ssl.ca.pem"] == PEM * 2


@pytest.mark.parametrize(("ending", "kind"), [("jks", "a Java key store (JKS)"), ("p12", "PKCS12")])
def test_other_trust_stores_are_refused_with_the_way_to_convert_them(
    ending: str, kind: str, stores: Mapping[str, Path], tmp_path: Path
) -> None:
    lines = [
        "security.protocol=SSL",
        f"ssl.truststore.location={stores[ending]}",
        "ssl.truststore.password=st0re-s3cret",
    ]
    line = refusal(tmp_path, *lines)
    assert f"is {kind}, expected PEM: keytool -list -rfc -keystore {stores[ending]} > truststore.pem" in line
    # Where there is no TLS, nobody opens the store.
    assert read(tmp_path, "security.protocol=PLAINTEXT", *lines[1:]).values == {"security.protocol": "PLAINTEXT"}


def test_key_stores(stores: Mapping[str, Path], tmp_path: Path) -> None:
    passwords = ["ssl.keystore.password=st0re-s3cret", "ssl.key.password=k3y-s3cret"]
    p12, pem = str(stores["p12"]), str(stores["pem"])
    checked = {"ssl.endpoint.identification.algorithm": "https"}
    assert tls(tmp_path, f"ssl.keystore.location={p12}", "ssl.keystore.type=PKCS12", *passwords) == {
        "ssl.keystore.location": p12,
        "ssl.keystore.password": "st0re-s3cret",
        **checked,
    }
    assert tls(tmp_path, f"ssl.keystore.location={pem}", "ssl.keystore.type=PEM", passwords[1]) == {
        "ssl.certificate.location": pem,
        "ssl.key.location": pem,
        "ssl.key.password": "k3y-s3cret",
        **checked,
    }
    block = PEM.strip().replace("\n", "\\n")
    assert tls(tmp_path, f"ssl.keystore.certificate.chain={block}", f"ssl.keystore.key={block}") == {
        "ssl.certificate.pem": PEM,
        "ssl.key.pem": PEM,
        **checked,
    }


def test_stores_that_cannot_be_used_are_refused(
    subtests: pytest.Subtests, stores: Mapping[str, Path], tmp_path: Path
) -> None:
    for lines, expected in [
        (["ssl.keystore.location={jks}", "ssl.keystore.password=st0re-s3cret"], "keytool -importkeystore -srckeystore"),
        (["ssl.keystore.location={p12}"], "expected ssl.keystore.password"),
        (["ssl.keystore.location={txt}"], "not a certificate store, expected PEM or PKCS12"),
        (["ssl.truststore.location={txt}"], "not a certificate store"),
        (["ssl.truststore.location={pem}.missing"], "cannot be read: No such file or directory"),
        (["ssl.keystore.key=s3cret"], "ssl.keystore.certificate.chain and ssl.keystore.key together"),
        (["ssl.keystore.key=s3cret", "ssl.keystore.certificate.chain=x"], "expected PEM, from -----BEGIN"),
        (["ssl.endpoint.identification.algorithm=LDAPS"], "https, or an empty value to disable"),
    ]:
        with subtests.test(lines=lines, expected=expected):
            assert expected in refusal(tmp_path, "security.protocol=SSL", *(each.format(**stores) for each in lines))


def test_the_check_of_the_host_name_is_switched_off_by_nothing(tmp_path: Path) -> None:
    name = "ssl.endpoint.identification.algorithm"
    assert tls(tmp_path, f"{name}=")[name] == "none"
    assert tls(tmp_path, f"{name}=HTTPS")[name] == "https"


@pytest.mark.parametrize(("given", "used"), [("30000", "30000"), ("1", "10"), ("2147483647", "300000")])
def test_the_time_limit_of_requests_stays_in_the_librarys_range(given: str, used: str, tmp_path: Path) -> None:
    assert read(tmp_path, f"request.timeout.ms={given}").values["socket.timeout.ms"] == used


def test_a_time_limit_is_a_number(tmp_path: Path) -> None:
    assert "expected a number of milliseconds" in refusal(tmp_path, "request.timeout.ms=soon")


def test_settings_of_consumers_are_passed_over_and_named(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        "bootstrap.servers=other:9092",
        "",
        "client.id=me",
        "group.id=g",
        "fetch.min.bytes=1",
        "ssl.protocol=TLS",
    )
    assert settings.values == {"security.protocol": "PLAINTEXT", "client.id": "me"}
    told = settings.passed_over
    assert told is not None
    assert (told.source, told.line) == (str(tmp_path / "client.properties"), 4)
    assert told.why == "settings without effect on an audit: group.id, fetch.min.bytes, ssl.protocol"


def test_settings_of_security_that_cannot_count_are_refused(subtests: pytest.Subtests, tmp_path: Path) -> None:
    for name in [
        "ssl.trustore.location",
        "sasl.username",
        "sasl.client.callback.handler.class",
        "security.providers",
        "config.providers",
        "ssl.ca.location",
    ]:
        with subtests.test(name=name):
            assert refusal(tmp_path, "client.id=x", f"{name}=s3cret").startswith(f" line 2: {name} is not supported")


def test_blanks_around_a_value_do_not_count(tmp_path: Path) -> None:
    settings = read(
        tmp_path, "security.protocol=SASL_PLAINTEXT \t", "sasl.mechanism = PLAIN  ", login() + "  ", "client.id=a b "
    )
    assert (settings.values["sasl.password"], settings.values["client.id"]) == ("s3cret", "a b")


def test_the_last_of_two_settings_counts(tmp_path: Path) -> None:
    assert read(tmp_path, "client.id=first", "client.id=last").values["client.id"] == "last"


def test_files_that_cannot_be_read_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read: .*, expected a properties file"):
        read_settings(tmp_path)
    with pytest.raises(UserError, match=r"cannot be read: .*, expected a properties file"):
        read_settings(tmp_path / "missing")
    assert refusal(tmp_path, "a=1", "b=\\uXYZ1") == " line 2: expected four hexadecimal digits after \\u"
