//! The rule of every test with a server in its process: no statement that its server sends reads all rows of a table. On SQLite, none reads
//! all rows of a user in a table that grows either, or finds rows of one by a user, a parent, a kind or a state, and then tests further
//! equality conditions on each ([`QueryPlan::residual_filters`]). [`plan_exceptions`](super::plan_exceptions) has the exceptions.
//!
//! A server records the distinct statements that it sends ([`SentStatements`]). When it ends, they are explained, and the test fails if
//! one of them breaks the rule. The database of the test need not exist any more on SQLite, which makes the same plans for empty tables.
//! On PostgreSQL the plans are those for large tables, whatever the test has saved; nothing is tested that cannot be explained because the
//! test has stopped the database, or still holds a lock.

use std::panic::resume_unwind;
use std::thread;

use database::{DatabaseFault, DistinctStatements, Explainer, QueryPlan};
use sea_orm::{DbErr, Statement};
use tokio::runtime::Builder;

use super::plan_exceptions::{
    FULL_SCANS, OWNER_READS, OWNER_SCANS, PARTIAL_INDEXES, PARTIAL_READS, RARE_FULL_SCANS, RARE_OWNER_SCANS,
    RESIDUAL_FILTERS, SMALL_TABLES,
};
use super::service_home::Home;

/// The statements that a server has sent. Dropping it explains them, unless the test has failed already.
pub struct SentStatements {
    sent: DistinctStatements,
    /// The URL of the database on PostgreSQL; `None` on SQLite.
    postgres: Option<String>,
}

impl SentStatements {
    /// Creates an empty set of statements that are sent to the database of this home.
    pub fn to(home: &Home) -> Self {
        let postgres = home.database_file().is_none().then(|| home.database_url());
        Self { sent: DistinctStatements::default(), postgres }
    }

    /// Returns the set to which the statements have to be added.
    pub fn distinct(&self) -> &DistinctStatements {
        &self.sent
    }
}

impl Drop for SentStatements {
    fn drop(&mut self) {
        // A second panic would end the process before the first is reported.
        if thread::panicking() {
            return;
        }
        let (statements, postgres) = (self.sent.take(), self.postgres.take());
        // Drop cannot await in the runtime of the test, so the statements are explained in a thread with its own runtime.
        let explained = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(faults_of_statements(statements, postgres.as_deref()))
        });
        let faults = explained.join().unwrap_or_else(|cause| resume_unwind(cause));
        assert_no_fault(&faults);
    }
}

/// Asserts that none of these plans breaks the rule.
pub fn assert_plans(plans: &[QueryPlan]) {
    let faults: Vec<String> = plans.iter().flat_map(faults_of).collect();
    assert_no_fault(&faults);
}

fn assert_no_fault(faults: &[String]) {
    assert!(faults.is_empty(), "{} statements read too many rows\n\n{}", faults.len(), faults.join("\n\n"));
}

async fn faults_of_statements(statements: Vec<Statement>, postgres: Option<&str>) -> Vec<String> {
    let explainer = match postgres {
        None => Explainer::of_empty_tables().await.unwrap(),
        Some(url) => match Explainer::of_postgres(url).await {
            Ok(explainer) => explainer,
            Err(cause) if cannot_be_asked(&cause) => return Vec::new(),
            Err(cause) => return vec![format!("the statements cannot be explained: {cause}")],
        },
    };
    let mut faults = Vec::new();
    for statement in statements {
        let sql = statement.sql.clone();
        match explainer.explain(statement).await {
            Ok(plan) => faults.extend(plan.iter().flat_map(faults_of)),
            Err(cause) if cannot_be_asked(&cause) => {}
            Err(cause) => faults.push(format!("cannot be explained: {cause}\n  SQL: {sql}")),
        }
    }
    faults
}

/// Returns whether the test has stopped the database, or holds a lock.
fn cannot_be_asked(cause: &DbErr) -> bool {
    [DatabaseFault::Locked, DatabaseFault::Unreachable].contains(&DatabaseFault::of(cause))
}

fn is_listed(sql: &str, lists: &[&[(&str, &str)]]) -> bool {
    lists.iter().copied().flatten().any(|(part, _)| sql.contains(part))
}

/// Returns how a plan breaks the rule: messages with the tables, the list for exceptions, the SQL and the plan.
fn faults_of(plan: &QueryPlan) -> Vec<String> {
    let mut faults = Vec::new();
    if !plan.full_scans().is_empty() && !is_listed(&plan.sql, &[FULL_SCANS, RARE_FULL_SCANS]) {
        let scans = plan.full_scans().join("; ");
        faults.push(format!("reads all rows of a table: {scans} (list: RARE_FULL_SCANS)"));
    }
    faults.extend(needless_reads_of(plan));
    faults.iter().map(|fault| format!("{fault}\n  SQL: {}\n  plan:\n{}", plan.sql, printed(plan))).collect()
}

/// Returns what a plan reads of an owner or of a partial index without need.
fn needless_reads_of(plan: &QueryPlan) -> Vec<String> {
    let is_growing = |table: &&String| SMALL_TABLES.iter().all(|(small, _)| *small != table.as_str());
    let is_of_few = |index: &str| PARTIAL_INDEXES.iter().any(|(few, _)| *few == index);
    let mut faults = Vec::new();
    let scanned: Vec<&String> = plan.owner_scans().iter().filter(is_growing).collect();
    if !scanned.is_empty() && !is_listed(&plan.sql, &[OWNER_SCANS, RARE_OWNER_SCANS]) {
        faults.push(format!(
            "reads all rows of a user in {scanned:?}, to find some or to count (list: RARE_OWNER_SCANS)"
        ));
    }
    let returned: Vec<&String> = plan.owner_reads().iter().filter(is_growing).collect();
    if !returned.is_empty() && !is_listed(&plan.sql, &[OWNER_READS]) {
        faults.push(format!("returns or changes all rows of a user in {returned:?} (list: OWNER_READS)"));
    }
    for read in plan.partial_reads() {
        if !is_of_few(&read.index) && !is_listed(&plan.sql, &[PARTIAL_READS]) {
            faults.push(format!(
                "reads a partial index of {} without a condition: {} (list: PARTIAL_INDEXES or PARTIAL_READS)",
                read.table, read.step
            ));
        }
    }
    for filter in plan.residual_filters() {
        let reads_many = is_growing(&&filter.table) && !is_of_few(&filter.index);
        if reads_many && !is_listed(&plan.sql, &[RESIDUAL_FILTERS]) {
            faults.push(format!(
                "tests {:?} on each row that it finds in {}: {} (list: RESIDUAL_FILTERS)",
                filter.columns, filter.table, filter.step
            ));
        }
    }
    faults
}

/// Returns the steps by which it is judged what a plan reads.
fn printed(plan: &QueryPlan) -> String {
    let steps = if plan.steps_with_sorts.is_empty() { &plan.steps } else { &plan.steps_with_sorts };
    steps.iter().map(|step| format!("    {step}")).collect::<Vec<String>>().join("\n")
}
