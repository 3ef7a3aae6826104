//! A GPU that is laid out anew, by whoever the site names, and what must hold afterwards.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cotenant_core::evidence::ChangePart;

use super::child::{Child, run};
use super::mig_manager::MigManager;

/// A change of the layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutOrder {
    /// Its name in reports.
    pub what: String,
    /// Who does it.
    pub by: LayoutBy,
    /// It has failed when it is not done by then.
    pub limit: Duration,
    /// What must hold afterwards.
    pub checks: Vec<LayoutCheck>,
    /// Where its programs run.
    pub cwd: PathBuf,
}

/// Who lays it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutBy {
    /// A program.
    Command(Vec<String>),
    /// GPU Operator's MIG Manager.
    MigManager(MigManager),
}

/// A program whose answer must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutCheck {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// What its output must contain.
    pub contains: Option<String>,
}

impl LayoutOrder {
    /// Does it and looks whether it holds. Returns remarks.
    ///
    /// # Errors
    /// A sentence: what went wrong.
    pub(super) async fn carry_out(
        &self,
        parts: &mut Vec<ChangePart>,
    ) -> Result<Vec<String>, String> {
        let began = Instant::now();
        let mut part = |name: &str, since: Instant| {
            let seconds = since.elapsed().as_secs_f64();
            parts.push(ChangePart { name: name.to_owned(), seconds, logged: false });
        };
        let remarks = match &self.by {
            LayoutBy::Command(argv) => {
                let child = Child { argv: argv.clone(), cwd: Some(self.cwd.clone()) };
                let ended = run(&child, self.limit).await?;
                if ended.code != Some(0) {
                    return Err(format!("{}: {}", argv.join(" "), ended.complaint()));
                }
                Vec::new()
            }
            LayoutBy::MigManager(manager) => manager.apply(self.limit).await?,
        };
        part("the change itself", began);
        let checking = Instant::now();
        for check in &self.checks {
            self.hold(check).await?;
        }
        if !self.checks.is_empty() {
            part("post-conditions", checking);
        }
        Ok(remarks)
    }

    async fn hold(&self, check: &LayoutCheck) -> Result<(), String> {
        let name = check.argv.join(" ");
        let child = Child { argv: check.argv.clone(), cwd: Some(self.cwd.clone()) };
        let ended = run(&child, self.limit).await?;
        if ended.code != Some(0) {
            return Err(format!("post-condition `{name}`: {}", ended.complaint()));
        }
        match check.contains.as_ref().filter(|text| !ended.stdout.contains(text.as_str())) {
            Some(text) => Err(format!("post-condition `{name}`: its output lacks `{text}`")),
            None => Ok(()),
        }
    }
}
