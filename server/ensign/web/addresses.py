"""Which network addresses are the public internet's, and not this machine's, its network's or its cloud's."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address

_UNICAST = IPv6Network("2000::/3")
"""All that is given out of IPv6 (IANA's registry); the rest is local, a translation, or not in use."""
_NAT64 = IPv6Network("64:ff9b::/96")
_SPECIAL = (
    IPv6Network("2001::/23"),  # protocols of their own, Teredo among them: it carries an IPv4 address
    IPv6Network("2001:db8::/32"),
    IPv6Network("2002::/16"),  # 6to4: it carries an IPv4 address
    IPv6Network("3fff::/20"),
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv4Network("168.63.129.16/32"),  # looks public, is the host's own service on every Azure machine
)


def is_public(address: Address) -> bool:
    """Whether anybody on the internet would reach the same machine under this address.

    What `ipaddress` calls global is not enough: multicast, site-local and translated addresses are global to it.
    """
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
        if address not in _UNICAST:
            return False
    if any(address in network for network in _SPECIAL if network.version == address.version):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)
