//! How a child confines itself before it reads a foreign byte: no files, no network, bounded memory and time.
//!
//! Every measure is best effort, because kernels differ; the child reports which ones took hold, and the parent logs
//! it. (faults-and-threats, 4.2: Parser isolation)

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

use super::wire::Setup;

/// The child needs the pipe to its parent and its clock; the rest is slack for the system's own libraries.
const OPEN_FILES: u64 = 16;

/// The clock ticks of a second in which Linux counts processor time (`USER_HZ`).
const TICKS: u64 = 100;

/// One way in which a child is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// No path of any file system can be opened (landlock).
    NoFiles,
    /// No TCP connection and no TCP listener (landlock, from Linux 6.7 on).
    NoTcp,
    /// No socket of any kind, no other program, no look into another process, and none of the calls by which kernels were broken
    /// into most (seccomp).
    NoSockets,
    /// No signal to, and no abstract socket of, a process outside (landlock, from Linux 6.12 on).
    NoOutsideProcesses,
    /// The address space has an upper bound.
    Memory,
    /// Each job has its share of processor time.
    ProcessorTime,
    /// Only a few descriptors can be open.
    OpenFiles,
    /// Nothing can be written to a file, were one open.
    NoWrites,
    /// A crash leaves no copy of the memory behind.
    NoCoreDump,
    /// No further process and thread can be started. The superuser is exempt from this one.
    NoNewProcesses,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Measure::NoFiles => "no files (landlock)",
            Measure::NoTcp => "no TCP (landlock)",
            Measure::NoSockets => "no sockets, no other program (seccomp)",
            Measure::NoOutsideProcesses => "no signals to others (landlock)",
            Measure::Memory => "a bound of memory",
            Measure::ProcessorTime => "a bound of processor time",
            Measure::OpenFiles => "a bound of open files",
            Measure::NoWrites => "no writing to files",
            Measure::NoCoreDump => "no core dump",
            Measure::NoNewProcesses => "no further processes",
        })
    }
}

/// What holds a child.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The measures in force.
    pub applied: Vec<Measure>,
    /// The measures that this kernel does not have or did not allow.
    pub missing: Vec<Measure>,
}

impl Confinement {
    fn note(&mut self, measure: Measure, holds: bool) {
        if holds { self.applied.push(measure) } else { self.missing.push(measure) }
    }
}

/// Confines the calling thread and every thread it starts from now on, and by the limits the whole process.
/// To be called while there is no second thread; gives back the meter, whose clock can only be opened before.
pub fn confine(setup: &Setup) -> (Confinement, Meter) {
    // Before the files are out of reach. Where it fails, the kernel chooses by size alone.
    let _ = offer_to_oom_killer();
    let mut meter = Meter::new(setup.cpu_seconds);
    let mut held = Confinement::default();
    held.note(Measure::NoFiles, in_force(no_files()));
    held.note(Measure::NoTcp, in_force(no_tcp()));
    held.note(Measure::NoSockets, no_sockets().is_ok());
    held.note(Measure::NoOutsideProcesses, in_force(no_outside_processes()));
    held.note(Measure::Memory, limit(Resource::AS, setup.memory_bytes));
    held.note(Measure::ProcessorTime, meter.renew().is_ok());
    held.note(Measure::OpenFiles, limit(Resource::NOFILE, OPEN_FILES));
    held.note(Measure::NoWrites, limit(Resource::FSIZE, 0));
    held.note(Measure::NoCoreDump, limit(Resource::CORE, 0));
    (held, meter)
}

/// Asks the kernel to end this process before any other when memory is short: better one job than the service.
/// (faults-and-threats, row 38; proc_pid_oom_score_adj(5))
fn offer_to_oom_killer() -> io::Result<()> {
    fs::write("/proc/self/oom_score_adj", "1000")
}

/// The last measure, for when the threads that do the work are running.
pub fn no_new_processes(held: &mut Confinement) {
    held.note(Measure::NoNewProcesses, limit(Resource::NPROC, 0));
}

fn limit(resource: Resource, most: u64) -> bool {
    // The hard limit comes down too, so that the child cannot take it back.
    rlimit::setrlimit(resource, most, most).is_ok()
}

// Three layers instead of one, so that each says for itself whether this kernel has it. Entering a layer also sets
// PR_SET_NO_NEW_PRIVS: nothing that is started from here on gains rights.

fn no_files() -> Result<RulesetStatus, RulesetError> {
    Ok(Ruleset::default().handle_access(AccessFs::from_all(ABI::V5))?.create()?.restrict_self()?.ruleset)
}

fn no_tcp() -> Result<RulesetStatus, RulesetError> {
    Ok(Ruleset::default().handle_access(AccessNet::from_all(ABI::V5))?.create()?.restrict_self()?.ruleset)
}

/// The pipe to the parent is open already; io_uring would lead around every other rule.
fn no_sockets() -> Result<(), SeccompError> {
    let refused = [
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_listen,
        libc::SYS_accept,
        libc::SYS_accept4,
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
        libc::SYS_memfd_create,
    ];
    let rules = refused.into_iter().map(|call| (call, Vec::new())).collect();
    let denied = SeccompAction::Errno(libc::EACCES.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, consts::ARCH.try_into()?)?;
    apply_filter(&BpfProgram::try_from(filter)?)
}

fn no_outside_processes() -> Result<RulesetStatus, RulesetError> {
    Ok(Ruleset::default().scope(Scope::from_all(ABI::V6))?.create()?.restrict_self()?.ruleset)
}

fn in_force(layer: Result<RulesetStatus, RulesetError>) -> bool {
    match layer {
        // Older kernels know fewer kinds of access; those they lack are refinements of opening.
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => true,
        Ok(RulesetStatus::NotEnforced) | Err(_) => false,
    }
}

/// Gives each job its own share of processor time, out of the one limit the kernel keeps for a process's whole life.
pub struct Meter {
    clock: Option<File>,
    share: u64,
    granted: u64,
}

impl Meter {
    fn new(share: u64) -> Self {
        Self { clock: File::open("/proc/self/stat").ok(), share, granted: 0 }
    }

    /// Starts the share of the next job: past it the kernel ends the process with SIGXCPU.
    pub fn renew(&mut self) -> io::Result<()> {
        // Without a clock the jobs before count as if each had used up its share.
        let spent = self.spent().unwrap_or(self.granted);
        self.granted = spent.saturating_add(self.share);
        let (_, hard) = rlimit::getrlimit(Resource::CPU)?;
        rlimit::setrlimit(Resource::CPU, self.granted.min(hard), hard)
    }

    /// Processor seconds of this process until now, rounded up.
    fn spent(&self) -> Option<u64> {
        let mut line = [0; 1024];
        let length = self.clock.as_ref()?.read_at(&mut line, 0).ok()?;
        ticks(std::str::from_utf8(line.get(..length)?).ok()?).map(|ticks| ticks.div_ceil(TICKS))
    }
}

/// User and system time of a line of `/proc/self/stat` (proc(5)): fields 14 and 15. The second field is the name in
/// parentheses and may hold anything.
fn ticks(line: &str) -> Option<u64> {
    let (_, behind_name) = line.rsplit_once(')')?;
    let mut fields = behind_name.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    Some(fields.next()?.ok()? + fields.next()?.ok()?)
}

#[cfg(test)]
mod tests {
    use std::{env, process::Command};

    use super::*;

    #[test]
    fn time_is_read_behind_a_name_of_any_kind() {
        let line = "42 (a ) 1 2 (b) S 1 42 42 0 -1 4194304 100 0 0 0 250 37 0 0 20 0 1 0 100 1000 10";

        assert_eq!(ticks(line), Some(287));
    }

    /// Set in the process that changes its own score: the score stays for the life of a process, and this one runs other tests.
    const IS_CHILD: &str = "CARREL_TEST_OOM_CHILD";

    /// Of the fault table (row 38).
    #[test]
    fn child_is_the_first_to_go_when_memory_is_short() {
        if env::var_os(IS_CHILD).is_some() {
            offer_to_oom_killer().unwrap();
            assert_eq!(fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim(), "1000");
            return;
        }
        let (_, path) = module_path!().split_once("::").unwrap();
        let name = format!("{path}::child_is_the_first_to_go_when_memory_is_short");

        let mut child = Command::new(env::current_exe().unwrap());
        let output = child.args(["--exact", &name]).env(IS_CHILD, "yes").output().unwrap();

        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }

    #[test]
    fn a_line_that_is_cut_gives_no_time() {
        assert_eq!(ticks("42 (carrel) S 1 42"), None);
        assert_eq!(ticks(""), None);
    }
}
