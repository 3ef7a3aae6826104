//! A sweep as an Indexed Job of Kubernetes'.
//!
//! Fields of `batch/v1`: <https://kubernetes.io/docs/concepts/workloads/controllers/job/>. Each index is
//! tried again by itself (`backoffLimitPerIndex`, from Kubernetes 1.33 on without a feature gate), so that
//! one lost shard does not end the others.

use std::fmt::Write as _;

/// Where the claim is mounted in the pods.
pub const SWEEP_MOUNT: &str = "/sweep";

/// What the Job is made from.
#[derive(Clone, Copy, Debug)]
pub struct IndexedJob<'a> {
    /// Its name; what Kubernetes does not allow in one becomes a dash.
    pub name: &'a str,
    /// The image whose entry point or path has the program.
    pub image: &'a str,
    /// The claim of the volume with the site file and for the shards.
    pub claim: &'a str,
    /// How many shards there are.
    pub shards: u32,
    /// Times that a lost shard is begun again.
    pub retries: u32,
    /// The program and its arguments.
    pub command: &'a [String],
}

/// The Job as YAML, to be applied by hand.
pub fn indexed_job_yaml(job: &IndexedJob<'_>) -> String {
    let IndexedJob { image, claim, shards, retries, .. } = job;
    let name = name_of(job.name);
    let mut words = String::new();
    for word in job.command {
        // Text grows as long as there is memory.
        let _ = writeln!(words, "            - {}", text(word));
    }
    format!(
        "# Written by Cotenant, and applied by nobody so far.\n\
         apiVersion: batch/v1\n\
         kind: Job\n\
         metadata:\n\
         \x20 name: {name}\n\
         spec:\n\
         \x20 completionMode: Indexed\n\
         \x20 completions: {shards}\n\
         \x20 parallelism: {shards}\n\
         \x20 backoffLimitPerIndex: {retries}\n\
         \x20 maxFailedIndexes: {shards}\n\
         \x20 template:\n\
         \x20   spec:\n\
         \x20     restartPolicy: Never\n\
         \x20     containers:\n\
         \x20       - name: shard\n\
         \x20         image: {image}\n\
         \x20         workingDir: {SWEEP_MOUNT}\n\
         \x20         # Which shard it is comes from JOB_COMPLETION_INDEX.\n\
         \x20         command:\n\
         {words}\
         \x20         volumeMounts:\n\
         \x20           - name: sweep\n\
         \x20             mountPath: {SWEEP_MOUNT}\n\
         \x20     volumes:\n\
         \x20       - name: sweep\n\
         \x20         persistentVolumeClaim:\n\
         \x20           claimName: {claim}\n",
        image = text(image),
        claim = text(claim),
    )
}

/// A text in YAML: JSON's quotes are YAML's too.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A name as Kubernetes takes it: small letters, digits and dashes, at most 63, a letter or digit at both
/// ends.
fn name_of(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(allowed).take(63).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "cotenant-sweep".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_one_index_for_each_shard_and_quotes_what_it_is_given() {
        let command = ["cotenant", "--sweep", "rate=0.5: \"#1\""].map(str::to_owned);
        let yaml = indexed_job_yaml(&IndexedJob {
            name: "Chat_2 sweep",
            image: "registry/cotenant:1",
            claim: "sweeps",
            shards: 16,
            retries: 3,
            command: &command,
        });
        for line in [
            "  name: chat-2-sweep",
            "  completionMode: Indexed",
            "  completions: 16",
            "  backoffLimitPerIndex: 3",
            "          image: \"registry/cotenant:1\"",
            "            - \"rate=0.5: \\\"#1\\\"\"",
            "            claimName: \"sweeps\"",
        ] {
            assert!(yaml.lines().any(|it| it == line), "{line} is not in\n{yaml}");
        }
        assert_eq!(name_of("---"), "cotenant-sweep");
        assert_eq!(name_of(&"x".repeat(100)).len(), 63);
    }
}
