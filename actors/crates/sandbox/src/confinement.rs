//! Confines a child before it reads an untrusted byte: no files, no network, bounded memory and time.
//!
//! Each mechanism is best effort, because kernels differ; the child reports which ones are in force, and the parent logs
//! it (faults-and-threats.md, section 4.2).

use std::{
    env::consts,
    fmt,
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
};

use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope};
use rlimit::Resource;
use seccompiler::{BpfProgram, Error as SeccompError, SeccompAction, SeccompFilter, apply_filter};
use serde::{Deserialize, Serialize};

/// The child needs the socket to its parent and its clock; the rest is slack for system libraries.
const MAX_OPEN_FILES: u64 = 16;

/// The clock ticks of a second in which Linux counts processor time (`USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

/// A mechanism by which a child is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// No path of any file system can be opened (landlock).
    NoFiles,
    /// No TCP connection and no TCP listener (landlock, from Linux 6.7 on).
    NoTcp,
    /// No socket of any kind, no other program, no access to another process, and none of the system calls
    /// by which kernels were attacked most (seccomp).
    NoSockets,
    /// No signal to a process outside, and no abstract socket of one (landlock, from Linux 6.12 on).
    NoOutsideProcesses,
    /// The address space is bounded (RLIMIT_AS), so an input that needs more memory fails alone.
    Memory,
    /// The processor time of each job is bounded.
    ProcessorTime,
    /// The number of open descriptors is bounded.
    OpenFiles,
    /// Nothing can be written to a file, even to an open one.
    NoWrites,
    /// A crash writes no core dump, which would contain what the child was reading.
    NoCoreDump,
    /// No further process or thread can be started. Root is exempt.
    NoNewProcesses,
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mechanism::NoFiles => "no files (landlock)",
            Mechanism::NoTcp => "no TCP (landlock)",
            Mechanism::NoSockets => "no sockets, no other program (seccomp)",
            Mechanism::NoOutsideProcesses => "no signals to others (landlock)",
            Mechanism::Memory => "a bound of memory",
            Mechanism::ProcessorTime => "a bound of processor time",
            Mechanism::OpenFiles => "a bound of open files",
            Mechanism::NoWrites => "no writing to files",
            Mechanism::NoCoreDump => "no core dump",
            Mechanism::NoNewProcesses => "no further processes",
        })
    }
}

/// The confinement of a child, as the child reports it in its first frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The mechanisms that are in force in the child.
    pub applied: Vec<Mechanism>,
    /// The mechanisms that this kernel does not have or did not allow.
    pub missing: Vec<Mechanism>,
}

impl Confinement {
    fn record(&mut self, mechanism: Mechanism, is_in_force: bool) {
        if is_in_force { self.applied.push(mechanism) } else { self.missing.push(mechanism) }
    }
}

/// Confines the calling thread and every thread that it starts from now on; resource limits hold for the whole process. Call it
/// while there is no second thread.
pub fn confine(memory_bytes: u64, cpu_seconds: u64) -> (Confinement, CpuMeter) {
    // The score and the clock of the meter are files of /proc, so both come before files are forbidden. If the score cannot be
    // written, the kernel chooses its victim by size alone.
    let _ = offer_to_oom_killer();
    let mut meter = CpuMeter::new(cpu_seconds);
    let mut confinement = Confinement::default();
    confinement.record(Mechanism::NoFiles, is_in_force(forbid_files()));
    confinement.record(Mechanism::NoTcp, is_in_force(forbid_tcp()));
    confinement.record(Mechanism::NoSockets, forbid_sockets().is_ok());
    confinement.record(Mechanism::NoOutsideProcesses, is_in_force(forbid_outside_processes()));
    confinement.record(Mechanism::Memory, limit(Resource::AS, memory_bytes));
    confinement.record(Mechanism::ProcessorTime, meter.renew().is_ok());
    confinement.record(Mechanism::OpenFiles, limit(Resource::NOFILE, MAX_OPEN_FILES));
    confinement.record(Mechanism::NoWrites, limit(Resource::FSIZE, 0));
    confinement.record(Mechanism::NoCoreDump, limit(Resource::CORE, 0));
    (confinement, meter)
}

/// Asks the kernel to end this process before any other when memory is short: better one job
/// than the server (row 38; proc_pid_oom_score_adj(5)).
fn offer_to_oom_killer() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", "1000")
}

/// Applies the last mechanism. Call it in the thread that does the work, because no thread can be started afterwards.
pub fn forbid_new_processes(confinement: &mut Confinement) {
    confinement.record(Mechanism::NoNewProcesses, limit(Resource::NPROC, 0));
}

fn limit(resource: Resource, max: u64) -> bool {
    // The hard limit is lowered too, so that the child cannot raise it again.
    rlimit::setrlimit(resource, max, max).is_ok()
}

// Three layers instead of one, so that each reports whether this kernel supports it. Entering a layer also sets
// PR_SET_NO_NEW_PRIVS: nothing that is started from here on gains rights.

fn forbid_files() -> Result<RulesetStatus, RulesetError> {
    Ok(Ruleset::default().handle_access(AccessFs::from_all(ABI::V5))?.create()?.restrict_self()?.ruleset)
}

fn forbid_tcp() -> Result<RulesetStatus, RulesetError> {
    Ok(Ruleset::default().handle_access(AccessNet::from_all(ABI::V5))?.create()?.restrict_self()?.ruleset)
}

fn forbid_sockets() -> Result<(), SeccompError> {
    let refused = [
        // The socket to the parent is open already, so the child needs no other.
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
        // An io_uring performs operations without their system calls, so it would circumvent every other rule.
        libc::SYS_io_uring_setup,
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_getfd,
        libc::SYS_pidfd_send_signal,
        libc::SYS_process_madvise,
        libc::SYS_kcmp,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        // A file in memory has no path, so landlock does not restrict it.
        libc::SYS_memfd_create,
    ];
    let rules = refused.into_iter().map(|call| (call, Vec::new())).collect();
    let denied = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, consts::ARCH.try_into()?)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}

fn forbid_outside_processes() -> Result<RulesetStatus, RulesetError> {
    Ok(Ruleset::default().scope(Scope::from_all(ABI::V6))?.create()?.restrict_self()?.ruleset)
}

fn is_in_force(layer: Result<RulesetStatus, RulesetError>) -> bool {
    match layer {
        // Older kernels know fewer kinds of access; those they lack are refinements of opening.
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => true,
        Ok(RulesetStatus::NotEnforced) | Err(_) => false,
    }
}

/// Gives each job a separate limit of processor time, although the limit of the kernel applies to the whole life of a process.
pub struct CpuMeter {
    clock: Option<File>,
    share: u64,
    granted: u64,
}

impl CpuMeter {
    fn new(share: u64) -> Self {
        Self { clock: File::open("/proc/self/stat").ok(), share, granted: 0 }
    }

    /// Starts the share of the next job: past it the kernel ends the process with SIGXCPU.
    pub fn renew(&mut self) -> io::Result<()> {
        // Without a clock the jobs before count as if each had used up its share.
        let spent = self.spent().unwrap_or(self.granted);
        self.granted = spent.saturating_add(self.share);
        // Only the soft limit moves. A process without privileges could lower the hard limit, but never raise it for the next job.
        let (_, hard) = rlimit::getrlimit(Resource::CPU)?;
        rlimit::setrlimit(Resource::CPU, self.granted.min(hard), hard)
    }

    /// Processor seconds of this process until now, rounded up.
    fn spent(&self) -> Option<u64> {
        let mut line = [0; 1024];
        let length = self.clock.as_ref()?.read_at(&mut line, 0).ok()?;
        ticks(std::str::from_utf8(line.get(..length)?).ok()?).map(|ticks| ticks.div_ceil(TICKS_PER_SECOND))
    }
}

/// Parses user and system time from a line of `/proc/self/stat` (proc(5)): fields 14 and 15.
fn ticks(line: &str) -> Option<u64> {
    // The second field is the name of the process in parentheses, which may itself contain spaces and parentheses.
    let (_, after_name) = line.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    Some(fields.next()?.ok()? + fields.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command};

    use super::*;

    #[test]
    fn processor_time_is_read_after_any_process_name() {
        let line = "42 (a ) 1 2 (b) S 1 42 42 0 -1 4194304 100 0 0 0 250 37 0 0 20 0 1 0 100 1000 10";

        assert_eq!(ticks(line), Some(287));
    }

    /// Set in the process that changes its own score: the score stays for the life of a process, and this one runs other tests.
    const IS_CHILD: &str = "CARREL_TEST_OOM_CHILD";

    /// Covers the fault table (row 38).
    #[test]
    fn child_is_the_first_victim_of_the_oom_killer() {
        if env::var_os(IS_CHILD).is_some() {
            offer_to_oom_killer().unwrap();
            assert_eq!(fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim(), "1000");
            return;
        }
        let (_, path) = module_path!().split_once("::").unwrap();
        let name = format!("{path}::child_is_the_first_victim_of_the_oom_killer");

        let mut child = Command::new(env::current_exe().unwrap());
        let output = child.args(["--exact", &name]).env(IS_CHILD, "yes").output().unwrap();

        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
    }

    #[test]
    fn truncated_stat_line_has_no_time() {
        assert_eq!(ticks("42 (carrel) S 1 42"), None);
        assert_eq!(ticks(""), None);
    }
}
