//! Who listens on a local port: an endpoint that was found running is observed through its process,
//! and never touched.
//!
//! Source of the columns: `proc_net_tcp(5)`; the state 0A is LISTEN.

use std::fs;
use std::path::Path;

/// Processes that hold the listening sockets of a TCP port, ascending. Empty where nobody does, or
/// where this process may not see who does.
pub fn listeners(proc: &Path, port: u16) -> Vec<u32> {
    let inodes: Vec<u64> = ["net/tcp", "net/tcp6"]
        .iter()
        .filter_map(|name| fs::read_to_string(proc.join(name)).ok())
        .flat_map(|text| parse_listening_inodes(&text, port))
        .collect();
    if inodes.is_empty() {
        return Vec::new();
    }
    let links: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let mut pids: Vec<u32> = fs::read_dir(proc)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| holds(proc, *pid, &links))
        .collect();
    pids.sort_unstable();
    pids
}

/// Inodes of the sockets that listen on a port, from the text of `/proc/net/tcp`.
pub fn parse_listening_inodes(text: &str, port: u16) -> Vec<u64> {
    let wanted = format!(":{port:04X}");
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, state, ..] = fields.as_slice() else { return None };
            (local.ends_with(&wanted) && *state == "0A").then(|| fields.get(9)?.parse().ok())?
        })
        .collect()
}

fn holds(proc: &Path, pid: u32, links: &[String]) -> bool {
    fs::read_dir(proc.join(pid.to_string()).join("fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .any(|link| links.iter().any(|wanted| link.as_os_str() == wanted.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_socket_is_found_and_a_connected_one_is_not() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1\n\
             1: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4343 1\n\
             2: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4444 1\n";
        assert_eq!(parse_listening_inodes(text, 8080), [4242]);
        assert_eq!(parse_listening_inodes("garbage", 8080), [0_u64; 0]);
    }

    #[test]
    fn this_process_is_found_by_its_own_socket() {
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        assert_eq!(listeners(Path::new("/proc"), port), [std::process::id()]);
    }
}
