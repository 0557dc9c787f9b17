"""An address has one spelling, and only public addresses of the internet are reached."""

from ipaddress import ip_address

import pytest

from ensign.protocol.errors import ToolError
from ensign.web.addresses import is_public
from ensign.web.urls import parse


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - nothing is bound
        *("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
        *("169.254.169.254", "169.254.170.2", "100.64.0.1", "100.127.255.255", "100.100.100.200", "168.63.129.16"),
        *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.0.192", "192.0.2.1", "198.18.0.1"),
        *("198.51.100.1", "203.0.113.9", "192.88.99.1"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "2606:4700::1111%lo", "fec0::1", "fc00::1", "fd00:ec2::254"),
        *("ff02::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1", "100::1", "5f00::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::7f00:1", "::a9fe:a9fe"),
        *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808"),
    ],
)
def test_what_lies_inside_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_what_anybody_reaches_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("https://example.org", "https://example.org/"),
        ("HTTPS://EXAMPLE.org.:443/A?b=c#part", "https://example.org/A?b=c"),
        ("http://example.org:8080/a;b/%20?x=<y>&z='", "http://example.org:8080/a;b/%20?x=%3Cy%3E&z='"),
        ("https://example.org/ä", "https://example.org/%C3%A4"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://\u24d4xample\u3002org/", "https://example.org/"),
        ("https://example.org?q", "https://example.org/?q"),
        *((f"http://{host}/", "http://127.0.0.1/") for host in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1")),
        *(
            (f"http://{host}/", "http://127.0.0.1/")
            for host in ("0x7F000001", "127.0.0.1.", "\uff11\uff12\uff17.0.0.1")
        ),
        ("http://[::FFFF:7f00:1]:80/", "http://[::ffff:7f00:1]/"),
    ],
)
def test_an_address_is_read_into_the_one_spelling_that_is_judged_and_fetched(text: str, read: str) -> None:
    assert str(parse(text)) == read
    assert parse(read) == parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("file:///etc/passwd", "start with https"),
        ("ftp://example.org/", "start with https"),
        ("gopher://127.0.0.1:6379/_x", "start with https"),
        ("javascript:alert(1)", "start with https"),
        ("example.org/a", "start with https"),
        ("//example.org/a", "start with https"),
        ("http:/example.org", "no host name"),
        ("https://user:pass@example.org/", "no user names"),
        ("https://example.org@evil.example/", "no user names"),
        ("https://example.org\\@evil.example/", "plain address"),
        ("https://example.org/ a", "plain address"),
        ("https://example.org/\r\nHost: evil", "plain address"),
        ("https://exa\tmple.org/", "plain address"),
        ("https://exa\u200bmple.org\u0085/", "plain address"),
        ("https://a..example/", "no host name"),
        ("https://a%2eexample/", "no host name"),
        ("https://-a.example/", "no host name"),
        ("http://1.2.3.4.5/", "no host name"),
        ("http://0x7g.1/", "no host name"),
        ("http://999999999999/", "no host name"),
        ("http://[::1%25lo]/", "network interface"),
        ("http://[::1/", "Invalid IPv6"),
        ("http://[v1.a]/", "no address"),
        ("http://example.org:0/", "port 0"),
        ("http://example.org:99999/", "Port out of range"),
        ("http://example.org:a/", "no address"),
        ("https://" + "a" * 5000, "longer than"),
    ],
)
def test_what_is_no_plain_address_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ToolError, match=reason):
        parse(text)


@pytest.mark.parametrize(
    ("from_", "to", "same"),
    [
        ("http://a.example/x", "https://a.example/y", True),
        ("https://a.example/x", "https://a.example/y", True),
        ("https://a.example/x", "http://a.example/x", False),
        ("https://a.example/x", "https://a.example:8443/x", False),
        ("http://a.example:8080/x", "https://a.example/x", False),
        ("https://a.example/x", "https://www.a.example/x", False),
    ],
)
def test_a_redirect_stays_in_its_place_only_on_the_same_server(from_: str, to: str, same: bool) -> None:
    assert parse(from_).same_place(parse(to)) is same
