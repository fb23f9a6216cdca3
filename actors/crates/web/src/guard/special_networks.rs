//! Which IP addresses belong to the public internet.
//!
//! IPv4: all addresses except the special-purpose registry (RFC 6890 and its successors), multicast and the reserved range.
//! IPv6: global unicast (2000::/3) only, without networks for documentation or protocols and without those that embed an
//! IPv4 address. So no embedded address is public: mapped (::ffff:0:0/96), compatible (::/96), translated
//! (::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48), 6to4 and Teredo.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

const fn v4(a: u8, b: u8, c: u8, d: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: u16, second: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

const SPECIAL_V4: &[Ipv4Net] = &[
    v4(0, 0, 0, 0, 8),        // this network (RFC 791): connects to this machine
    v4(10, 0, 0, 0, 8),       // private (RFC 1918)
    v4(100, 64, 0, 0, 10),    // carriers' NAT (RFC 6598); one cloud's metadata service
    v4(127, 0, 0, 0, 8),      // loopback (RFC 1122)
    v4(168, 63, 129, 16, 32), // public by number, but the host of a virtual machine on Azure
    v4(169, 254, 0, 0, 16),   // link local (RFC 3927); the metadata service of most clouds
    v4(172, 16, 0, 0, 12),    // private (RFC 1918)
    v4(192, 0, 0, 0, 24),     // protocol assignments (RFC 6890)
    v4(192, 0, 2, 0, 24),     // documentation (RFC 5737)
    v4(192, 88, 99, 0, 24),   // 6to4 relays (RFC 7526)
    v4(192, 168, 0, 0, 16),   // private (RFC 1918)
    v4(198, 18, 0, 0, 15),    // benchmarks (RFC 2544)
    v4(198, 51, 100, 0, 24),  // documentation (RFC 5737)
    v4(203, 0, 113, 0, 24),   // documentation (RFC 5737)
    v4(224, 0, 0, 0, 4),      // multicast (RFC 5771)
    v4(240, 0, 0, 0, 4),      // reserved (RFC 1112), broadcast
];

const GLOBAL_UNICAST: Ipv6Net = v6(0x2000, 0, 3);

const SPECIAL_V6: &[Ipv6Net] = &[
    v6(0x2001, 0x0000, 23), // protocol assignments (RFC 2928), Teredo (RFC 4380) and ORCHID among them
    v6(0x2001, 0x0db8, 32), // documentation (RFC 3849)
    v6(0x2002, 0x0000, 16), // 6to4 (RFC 3056): an IPv4 address inside
    v6(0x3fff, 0x0000, 20), // documentation (RFC 9637)
];

/// Returns whether the address belongs to the public internet, according to its number alone.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|net| net.contains(&address)),
        IpAddr::V6(address) => {
            GLOBAL_UNICAST.contains(&address) && !SPECIAL_V6.iter().any(|net| net.contains(&address))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().expect(text))
    }

    #[test]
    fn public_addresses_are_public() {
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "2003::1",
            "3ffe::1",
        ] {
            assert!(public(text), "{text}");
        }
    }

    /// Covers the threat table (rows S1, S3).
    #[test]
    fn edges_of_special_networks_are_not_public() {
        for text in [
            "0.0.0.0",
            "0.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "127.0.0.0",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.0.0",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.255",
            "192.88.99.1",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.0",
            "239.255.255.255",
            "240.0.0.0",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::808:808",
            "::ffff:8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::1",
            "100::1",
            "1fff::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:808:808::1",
            "3fff::1",
            "3fff:fff:ffff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(text), "{text}");
        }
    }

    proptest! {
        /// Covers the threat table (rows S1, S4).
        #[test]
        fn addresses_that_std_calls_special_are_not_public(number: u32) {
            let address = Ipv4Addr::from(number);
            let special = address.is_private() || address.is_loopback() || address.is_link_local() || address.is_multicast()
                || address.is_broadcast() || address.is_documentation() || address.is_unspecified();
            prop_assert!(!(special && is_public(address.into())));
            prop_assert!(!is_public(address.to_ipv6_mapped().into()) && !is_public(address.to_ipv6_compatible().into()));
        }
    }
}
