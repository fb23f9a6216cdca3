//! Ports from which no page is fetched, so that a saved URL cannot make the server send HTTP to a mail server, a printer
//! or a database (row S13).
//!
//! Some pages use unusual ports, so this is a deny list: the bad ports of browsers (WHATWG Fetch, "port blocking"), and
//! ports of databases and control interfaces that browsers allow.

/// WHATWG Fetch, "bad port"; sorted.
const BAD_PORTS: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// SMB, SQL Server, Oracle, Docker, etcd, MySQL, RDP, PostgreSQL, VNC, CouchDB,
/// Redis, Kubernetes nodes, Elasticsearch, memcached, MongoDB; sorted.
const SERVICE_PORTS: &[u16] = &[
    445, 1433, 1521, 2375, 2376, 2379, 2380, 3306, 3389, 5432, 5900, 5984, 6379, 9200, 9300, 10250, 11211,
    27017,
];

/// Returns whether a page may be fetched from this port.
pub(super) fn is_for_pages(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_err() && SERVICE_PORTS.binary_search(&port).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_lists_are_sorted() {
        assert!(BAD_PORTS.is_sorted() && SERVICE_PORTS.is_sorted());
    }

    #[test]
    fn ports_of_other_services_are_denied() {
        assert!(
            [80, 81, 443, 3000, 5000, 8000, 8080, 8443, 20009, 32768, 65535].into_iter().all(is_for_pages)
        );
        assert!(![0, 22, 25, 6379, 3306, 9200, 6667, 10080].into_iter().any(is_for_pages));
    }
}
