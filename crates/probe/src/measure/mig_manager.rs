//! GPU Operator's MIG Manager, driven through the labels of a node.
//!
//! `nvidia.com/mig.config` names a configuration; the manager answers in `nvidia.com/mig.config.state`
//! with `pending`, `rebooting`, `success` or `failed`. Two ways of being stuck are known from its
//! source (mig-parted 0.15, `reconfigure.go`) and recognised by name: pods that could not be deleted
//! leave the state `pending` and the operands paused; and a change of the MIG mode whose error was
//! swallowed makes the next step fail with the mode disabled.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::child::{Child, run};

const CONFIG_LABEL: &str = "nvidia.com/mig.config";
const STATE_LABEL: &str = "nvidia.com/mig.config.state";
/// The value of an operand's deploy label while the manager keeps it away.
const PAUSED: &str = "paused-for-mig-change";
/// What the manager's log says when it applies instances on a GPU whose mode was never changed.
const MODE_DISABLED: &str = "MIG mode disabled";
/// Longest wait for one answer of the cluster.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A change through the manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigManager {
    /// The program that speaks to the cluster.
    pub kubectl: String,
    /// The node.
    pub node: String,
    /// The configuration.
    pub config: String,
    /// Pause between two looks at the node.
    pub pause: Duration,
    /// How long an old `success` must stand before it is taken for an answer: a manager that has
    /// nothing to do never says `pending`.
    pub settle: Duration,
}

/// What a node says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    labels: BTreeMap<String, String>,
    /// What it offers to pods, by the name of the resource.
    offers: BTreeMap<String, String>,
}

impl MigManager {
    /// Sets the configuration and waits for the manager's answer. Returns remarks.
    ///
    /// # Errors
    /// A sentence: what the manager said, or in which of the known ways it is stuck.
    pub(super) async fn apply(&self, limit: Duration) -> Result<Vec<String>, String> {
        let before = self.node().await?;
        let had = before.labels.get(CONFIG_LABEL).cloned();
        let label = format!("{CONFIG_LABEL}={}", self.config);
        self.ask(&["label", "node", &self.node, &label, "--overwrite"]).await?;
        let began = Instant::now();
        let (mut moved, mut remarks) = (false, Vec::new());
        let mut last = Node::default();
        let mut silence = None;
        while began.elapsed() < limit {
            match self.node().await {
                Ok(node) => last = node,
                // A node that boots, or a control plane that is busy: the limit decides.
                Err(why) => silence = Some(why),
            }
            let state = last.labels.get(STATE_LABEL).map_or("", String::as_str);
            match state {
                "success" if moved || began.elapsed() >= self.settle => {
                    if !moved && had.as_deref() != Some(self.config.as_str()) {
                        remarks.push("the manager went to success without saying pending".into());
                    }
                    return self.devices(&last, began, limit).await.map(|()| remarks);
                }
                "failed" if moved || began.elapsed() >= self.settle => {
                    return Err(self.why_failed().await);
                }
                "pending" | "rebooting" => {
                    if state == "rebooting" && !remarks.iter().any(|r| r.contains("rebooting")) {
                        remarks.push("the node was rebooting for the change".into());
                    }
                    moved = true;
                }
                _ => {}
            }
            tokio::time::sleep(self.pause).await;
        }
        Err(Self::stuck(&last, limit, silence))
    }

    /// Success is a word: the node must also offer what the configuration makes.
    async fn devices(&self, node: &Node, began: Instant, limit: Duration) -> Result<(), String> {
        if self.config.contains("disabled") {
            return Ok(());
        }
        let mut node = node.clone();
        loop {
            if offers_mig(&node) {
                return Ok(());
            }
            if began.elapsed() >= limit {
                return Err(format!(
                    "MIG Manager says success, but node {} offers no MIG device: neither its labels \
                     nor its resources name one; a reboot of the node has helped others",
                    self.node
                ));
            }
            tokio::time::sleep(self.pause).await;
            node = self.node().await.unwrap_or(node);
        }
    }

    async fn why_failed(&self) -> String {
        let log = self.log().await;
        let line = |text: &str| log.lines().rev().find(|line| line.contains(text)).map(str::trim);
        if let Some(said) = line(MODE_DISABLED) {
            return format!(
                "MIG Manager failed: the MIG mode of the GPU was never changed, because that error \
                 was swallowed (\"{said}\"): something still uses the GPU; drain user pods and host \
                 services that hold it, or set WITH_REBOOT"
            );
        }
        let last = line("In use by another client").or_else(|| line("rror")).unwrap_or_default();
        if last.is_empty() {
            "MIG Manager says failed, and its log could not be read".to_owned()
        } else {
            format!("MIG Manager says failed: \"{last}\"")
        }
    }

    /// What a change that did not end in time is stuck at.
    fn stuck(node: &Node, limit: Duration, silence: Option<String>) -> String {
        let state = node.labels.get(STATE_LABEL).map_or("", String::as_str);
        let paused: Vec<&str> = node
            .labels
            .iter()
            .filter(|(_, value)| value.contains(PAUSED))
            .map(|(label, _)| label.trim_start_matches("nvidia.com/gpu.deploy."))
            .collect();
        if state == "pending" && !paused.is_empty() {
            return format!(
                "MIG Manager is stuck after {limit:?}: the state stays pending while {} are paused \
                 for the change, so deleting their pods failed or hangs; delete them by hand and set \
                 the deploy labels back to true",
                paused.join(", ")
            );
        }
        let state = if state.is_empty() { "nothing" } else { state };
        let silence = silence.map_or_else(String::new, |why| format!("; {why}"));
        format!("MIG Manager still says {state} after {limit:?}{silence}")
    }

    async fn node(&self) -> Result<Node, String> {
        let text = self.ask(&["get", "node", &self.node, "-o", "json"]).await?;
        parse_node(&text).ok_or_else(|| format!("node {}: the answer is no node", self.node))
    }

    async fn log(&self) -> String {
        let arguments = [
            "logs",
            "--namespace",
            "gpu-operator",
            "--selector",
            "app=nvidia-mig-manager",
            "--tail",
            "200",
        ];
        self.ask(&arguments).await.unwrap_or_default()
    }

    async fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut argv = vec![self.kubectl.clone()];
        argv.extend(arguments.iter().map(ToString::to_string));
        let ended = run(&Child { argv, cwd: None }, ANSWER_MAX).await?;
        if ended.code == Some(0) {
            return Ok(ended.stdout);
        }
        Err(format!("{} {}: {}", self.kubectl, arguments[..2].join(" "), ended.complaint()))
    }
}

fn parse_node(text: &str) -> Option<Node> {
    let document: Value = serde_json::from_str(text).ok()?;
    let texts = |value: Option<&Value>| -> BTreeMap<String, String> {
        let entries = value.and_then(Value::as_object).into_iter().flatten();
        entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    Some(Node {
        labels: texts(document.get("metadata")?.get("labels")),
        offers: texts(document.get("status").and_then(|status| status.get("allocatable"))),
    })
}

/// Whether a node offers MIG devices: under the mixed strategy by resources of their own, under the
/// single one as GPUs whose product is a profile.
fn offers_mig(node: &Node) -> bool {
    let some = |count: &String| count.parse::<u32>().is_ok_and(|count| count > 0);
    let mixed =
        node.offers.iter().any(|(name, count)| name.starts_with("nvidia.com/mig-") && some(count));
    let product = node.labels.get("nvidia.com/gpu.product").is_some_and(|p| p.contains("MIG"));
    mixed || (product && node.offers.get("nvidia.com/gpu").is_some_and(some))
}

#[cfg(test)]
#[path = "../../tests/support/script.rs"]
mod script;

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A cluster of one node: `kubectl` is a script that answers with the next of some answers, and
    /// stays with the last. `label` begins the sequence.
    struct Cluster {
        folder: TempDir,
    }

    impl Cluster {
        fn new(answers: &[String], log: &str) -> Self {
            let folder = TempDir::new().unwrap();
            for (number, answer) in answers.iter().enumerate() {
                std::fs::write(folder.path().join(format!("node{number}")), answer).unwrap();
            }
            std::fs::write(folder.path().join("log"), log).unwrap();
            let script = format!(
                "#!/bin/sh\ncd {}\necho \"$*\" >> calls\nat=$(cat at 2>/dev/null || echo 0)\ncase $1 in\n\
                 label) echo 1 > at ;;\n\
                 logs) cat log ;;\n\
                 get) [ -f node$at ] || {{ echo 'connection refused' >&2; exit 1; }}; cat node$at\n\
                 [ $at = 0 ] || [ ! -f node$((at + 1)) ] || echo $((at + 1)) > at ;;\nesac\n",
                folder.path().display()
            );
            script::executable(&folder.path().join("kubectl"), &script);
            Self { folder }
        }

        async fn apply(&self, config: &str, limit: Duration) -> Result<Vec<String>, String> {
            let manager = MigManager {
                kubectl: self.folder.path().join("kubectl").display().to_string(),
                node: "gpu-1".to_owned(),
                config: config.to_owned(),
                pause: Duration::from_millis(5),
                settle: Duration::from_millis(300),
            };
            manager.apply(limit).await
        }

        fn calls(&self) -> String {
            std::fs::read_to_string(self.folder.path().join("calls")).unwrap()
        }
    }

    fn node(labels: &[(&str, &str)], offers: &[(&str, &str)]) -> String {
        let map = |pairs: &[(&str, &str)]| -> serde_json::Map<String, Value> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect()
        };
        serde_json::json!({
            "metadata": { "name": "gpu-1", "labels": map(labels) },
            "status": { "allocatable": map(offers) },
        })
        .to_string()
    }

    fn state(state: &str) -> String {
        node(&[(CONFIG_LABEL, "all-1g.10gb"), (STATE_LABEL, state)], &[("nvidia.com/gpu", "1")])
    }

    fn done() -> String {
        node(&[(STATE_LABEL, "success")], &[("nvidia.com/mig-1g.10gb", "7")])
    }

    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn a_change_goes_through_its_states_to_devices() {
        let old = node(&[(CONFIG_LABEL, "all-disabled"), (STATE_LABEL, "success")], &[]);
        let states = [
            old.clone(),
            old,
            state("pending"),
            state("rebooting"),
            // The operands come back a moment after the word.
            state("success"),
            done(),
        ];
        let cluster = Cluster::new(&states, "");
        let remarks = cluster.apply("all-1g.10gb", LONG).await.unwrap();
        assert_eq!(remarks, ["the node was rebooting for the change"]);
        let label = "label node gpu-1 nvidia.com/mig.config=all-1g.10gb --overwrite";
        assert!(cluster.calls().contains(label), "{}", cluster.calls());
    }

    #[tokio::test]
    async fn an_old_success_must_stand_and_none_is_needed_without_mig() {
        let cluster = Cluster::new(&[done(), done()], "");
        let began = Instant::now();
        cluster.apply("all-1g.10gb", LONG).await.unwrap();
        assert!(began.elapsed() >= Duration::from_millis(300), "an old success was believed");
        let off = Cluster::new(&[done(), state("pending"), state("success")], "");
        off.apply("all-disabled", LONG).await.unwrap();
    }

    #[tokio::test]
    async fn pods_that_are_never_deleted_leave_it_pending_and_paused() {
        let paused = node(
            &[
                (STATE_LABEL, "pending"),
                ("nvidia.com/gpu.deploy.device-plugin", "paused-for-mig-change"),
                ("nvidia.com/gpu.deploy.dcgm-exporter", "paused-for-mig-change"),
            ],
            &[],
        );
        let cluster = Cluster::new(&[done(), paused], "");
        let why = cluster.apply("all-1g.10gb", Duration::from_millis(400)).await.unwrap_err();
        assert!(why.contains("stuck") && why.contains("dcgm-exporter, device-plugin"), "{why}");
        // Pending without anything paused is only slow.
        let slow = Cluster::new(&[done(), state("pending")], "");
        let why = slow.apply("all-1g.10gb", Duration::from_millis(100)).await.unwrap_err();
        assert!(why.contains("still says pending"), "{why}");
    }

    #[tokio::test]
    async fn a_swallowed_change_of_the_mode_is_named() {
        let log = "time=1 level=info msg=\"Applying MIG device configuration\"\n\
                   time=2 level=error msg=\"Error: unable to apply MIG config with MIG mode disabled\"\n";
        let cluster = Cluster::new(&[done(), state("pending"), state("failed")], log);
        let why = cluster.apply("all-1g.10gb", LONG).await.unwrap_err();
        assert!(why.contains("swallowed") && why.contains("still uses the GPU"), "{why}");
        let other = Cluster::new(
            &[done(), state("pending"), state("failed")],
            "Error: In use by another client\n",
        );
        let why = other.apply("all-1g.10gb", LONG).await.unwrap_err();
        assert!(why.contains("In use by another client"), "{why}");
    }

    #[tokio::test]
    async fn success_without_devices_is_no_success() {
        let cluster = Cluster::new(&[done(), state("pending"), state("success")], "");
        let why = cluster.apply("all-1g.10gb", Duration::from_millis(400)).await.unwrap_err();
        assert!(why.contains("offers no MIG device"), "{why}");
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_answer_is_told() {
        let cluster = Cluster::new(&[], "");
        let why = cluster.apply("all-1g.10gb", LONG).await.unwrap_err();
        assert!(why.contains("connection refused"), "{why}");
    }

    #[test]
    fn single_strategy_offers_profiles_as_gpus() {
        let product = ("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb");
        let single = node(&[product], &[("nvidia.com/gpu", "7")]);
        assert!(offers_mig(&parse_node(&single).unwrap()));
        assert!(!offers_mig(&parse_node(&node(&[product], &[("nvidia.com/gpu", "0")])).unwrap()));
        assert!(parse_node("[]").is_none() && parse_node("no json").is_none());
    }
}
