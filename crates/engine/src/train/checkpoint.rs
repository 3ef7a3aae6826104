//! Checkpoints that are either whole or not there.
//!
//! A checkpoint is a directory `step-000000000012` with the weights, the optimiser's moments and a `meta.json` that holds
//! the size and SHA-256 of both. It is written under another name, every file and the directory are synced, and only then
//! renamed; so a name that can be picked up stands for a whole checkpoint, whenever the writer is killed. The digests
//! are for what happens later: a damaged one is found out and passed over.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File, TryLockError};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{EngineError, ModelConfig};

const FORMAT_VERSION: u32 = 1;
const NAME_PREFIX: &str = "step-";
const UNFINISHED_PREFIX: &str = ".unfinished-";
/// What makes way for a newer checkpoint of the same step, until that is in place.
const REPLACED_PREFIX: &str = ".replaced-";
const META_FILE: &str = "meta.json";
const WEIGHTS_FILE: &str = "weights.safetensors";
const OPTIMISER_FILE: &str = "optimiser.safetensors";
const LOCK_FILE: &str = ".lock";

/// What must be the same for a run to go on from a checkpoint, because it decides either the shapes or the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunSettings {
    pub(crate) model: ModelConfig,
    pub(crate) seed: u64,
    pub(crate) batch: u32,
    pub(crate) sequence: u32,
    pub(crate) learning_rate: f64,
}

impl RunSettings {
    /// The first setting in which `self` (of the checkpoint) differs from `other` (of this run), in words.
    fn difference(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("layers", self.model.layers.to_string(), other.model.layers.to_string()),
            ("width", self.model.width.to_string(), other.model.width.to_string()),
            ("heads", self.model.heads.to_string(), other.model.heads.to_string()),
            ("kv-heads", self.model.kv_heads.to_string(), other.model.kv_heads.to_string()),
            ("feed-forward width", self.model.hidden.to_string(), other.model.hidden.to_string()),
            ("vocabulary", self.model.vocabulary.to_string(), other.model.vocabulary.to_string()),
            ("seed", self.seed.to_string(), other.seed.to_string()),
            ("batch", self.batch.to_string(), other.batch.to_string()),
            ("sequence", self.sequence.to_string(), other.sequence.to_string()),
            ("learning-rate", self.learning_rate.to_string(), other.learning_rate.to_string()),
        ];
        pairs
            .into_iter()
            .find(|(_, saved, asked)| saved != asked)
            .map(|(name, saved, asked)| format!("{name} was {saved} and is now {asked}"))
    }
}

/// The state of a run after `step` steps.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) step: u64,
    /// Loss of that step, in nats per byte; none before the first.
    pub(crate) loss: Option<f32>,
    pub(crate) parameters: BTreeMap<String, Tensor>,
    pub(crate) first_moments: BTreeMap<String, Tensor>,
    pub(crate) second_moments: BTreeMap<String, Tensor>,
}

/// A checkpoint that was passed over, and why.
#[derive(Debug)]
pub(crate) struct Skipped {
    pub(crate) path: PathBuf,
    pub(crate) reason: String,
}

/// Size of what was written, and where.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    format_version: u32,
    step: u64,
    loss: Option<f32>,
    settings: RunSettings,
    files: Vec<FileDigest>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct FileDigest {
    name: String,
    bytes: u64,
    sha256: String,
}

/// The checkpoints of one run, in one directory that no other trainer may use meanwhile.
#[derive(Debug)]
pub(crate) struct CheckpointDirectory {
    path: PathBuf,
    keep: usize,
    /// Held for its lock, which the system releases when the process ends in whatever way.
    _lock: File,
}

impl CheckpointDirectory {
    /// Opens or creates the directory and tidies up after a writer that was killed.
    pub(crate) fn open(path: &Path, keep: usize) -> Result<Self, EngineError> {
        let action = || format!("open the checkpoint directory {}", path.display());
        fs::create_dir_all(path).map_err(EngineError::io(action()))?;
        let lock = File::create(path.join(LOCK_FILE)).map_err(EngineError::io(action()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(EngineError::CheckpointDirectoryInUse(path.to_owned()));
            }
            Err(TryLockError::Error(error)) => return Err(EngineError::io(action())(error)),
        }
        let directory = Self { path: path.to_owned(), keep, _lock: lock };
        directory.recover().map_err(EngineError::io(format!("tidy up {}", path.display())))?;
        Ok(directory)
    }

    /// Removes what a killed writer left, and puts back what had made way for a checkpoint that never came.
    fn recover(&self) -> std::io::Result<()> {
        for (name, entry) in self.entries().map_err(std::io::Error::other)? {
            if name.starts_with(UNFINISHED_PREFIX) {
                fs::remove_dir_all(&entry)?;
            } else if let Some(name) = name.strip_prefix(REPLACED_PREFIX) {
                let place = self.path.join(name);
                if place.exists() {
                    fs::remove_dir_all(&entry)?;
                } else {
                    fs::rename(&entry, &place)?;
                }
            }
        }
        sync(&self.path)
    }

    /// Whether there is any checkpoint, whole or damaged.
    pub(crate) fn is_empty(&self) -> Result<bool, EngineError> {
        Ok(self.steps()?.is_empty())
    }

    /// Loads the newest whole checkpoint; none when there are no checkpoints at all.
    ///
    /// # Errors
    /// [`EngineError::CheckpointMismatch`] when the newest readable one has other settings, and
    /// [`EngineError::CheckpointsDamaged`] when there are checkpoints and none of them is whole.
    pub(crate) fn load_newest(
        &self,
        settings: &RunSettings,
        device: &Device,
    ) -> Result<(Option<State>, Vec<Skipped>), EngineError> {
        let mut skipped = Vec::new();
        for (_, path) in self.steps()?.into_iter().rev() {
            match load(&path, settings, device) {
                Ok(state) => return Ok((Some(state), skipped)),
                Err(LoadError::Mismatch(reason)) => {
                    return Err(EngineError::CheckpointMismatch { path, reason });
                }
                Err(LoadError::Damaged(reason)) => skipped.push(Skipped { path, reason }),
            }
        }
        match skipped.first() {
            None => Ok((None, skipped)),
            Some(newest) => Err(EngineError::CheckpointsDamaged {
                directory: self.path.clone(),
                reason: newest.reason.clone(),
            }),
        }
    }

    /// Writes a checkpoint, then removes all but the newest `keep`.
    pub(crate) fn save(
        &self,
        state: &State,
        settings: &RunSettings,
    ) -> Result<Written, EngineError> {
        let name = format!("{NAME_PREFIX}{:012}", state.step);
        let unfinished = self.path.join(format!("{UNFINISHED_PREFIX}{name}"));
        let path = self.path.join(&name);
        let action = || format!("write the checkpoint {}", path.display());
        fs::create_dir(&unfinished).map_err(EngineError::io(action()))?;
        let bytes = write_files(&unfinished, state, settings).map_err(|error| match error {
            WriteError::Io(error) => EngineError::io(action())(error),
            WriteError::Compute(error) => EngineError::Compute(error),
        })?;
        self.put_in_place(&unfinished, &path, &name).map_err(EngineError::io(action()))?;
        self.remove_old().map_err(EngineError::io("remove an old checkpoint"))?;
        Ok(Written { path, bytes })
    }

    /// Renames; an older checkpoint of the same step (a damaged one that was passed over) makes way first.
    fn put_in_place(&self, unfinished: &Path, path: &Path, name: &str) -> std::io::Result<()> {
        let replaced = self.path.join(format!("{REPLACED_PREFIX}{name}"));
        let replaces = path.exists();
        if replaces {
            fs::rename(path, &replaced)?;
        }
        fs::rename(unfinished, path)?;
        sync(&self.path)?;
        if replaces {
            fs::remove_dir_all(&replaced)?;
        }
        Ok(())
    }

    fn remove_old(&self) -> std::io::Result<()> {
        let steps = self.steps().map_err(std::io::Error::other)?;
        let surplus = steps.len().saturating_sub(self.keep);
        for (_, path) in steps.into_iter().take(surplus) {
            fs::remove_dir_all(path)?;
        }
        Ok(())
    }

    /// Checkpoints by step, oldest first.
    fn steps(&self) -> Result<BTreeMap<u64, PathBuf>, EngineError> {
        let step = |name: &str| name.strip_prefix(NAME_PREFIX)?.parse().ok();
        Ok(self
            .entries()?
            .into_iter()
            .filter_map(|(name, path)| Some((step(&name)?, path)))
            .collect())
    }

    fn entries(&self) -> Result<Vec<(String, PathBuf)>, EngineError> {
        let read = || -> std::io::Result<Vec<(String, PathBuf)>> {
            fs::read_dir(&self.path)?
                .map(|entry| {
                    entry.map(|entry| {
                        (entry.file_name().to_string_lossy().into_owned(), entry.path())
                    })
                })
                .collect()
        };
        read().map_err(EngineError::io(format!("list {}", self.path.display())))
    }
}

enum WriteError {
    Io(std::io::Error),
    Compute(candle_core::Error),
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// Writes and syncs all files of a checkpoint; returns their size together in bytes.
fn write_files(directory: &Path, state: &State, settings: &RunSettings) -> Result<u64, WriteError> {
    let weights: HashMap<&str, Tensor> =
        state.parameters.iter().map(|(name, tensor)| (name.as_str(), tensor.clone())).collect();
    let named = |moment: &str, tensors: &BTreeMap<String, Tensor>| {
        let moment = moment.to_owned();
        tensors
            .iter()
            .map(|(name, tensor)| (format!("{moment}.{name}"), tensor.clone()))
            .collect::<Vec<_>>()
    };
    let moments: HashMap<String, Tensor> = named("first", &state.first_moments)
        .into_iter()
        .chain(named("second", &state.second_moments))
        .collect();
    candle_core::safetensors::save(&weights, directory.join(WEIGHTS_FILE))
        .map_err(WriteError::Compute)?;
    candle_core::safetensors::save(&moments, directory.join(OPTIMISER_FILE))
        .map_err(WriteError::Compute)?;
    let files = [WEIGHTS_FILE, OPTIMISER_FILE]
        .into_iter()
        .map(|name| {
            sync(&directory.join(name))?;
            digest(directory, name)
        })
        .collect::<std::io::Result<Vec<_>>>()?;
    let bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let meta = Meta {
        format_version: FORMAT_VERSION,
        step: state.step,
        loss: state.loss,
        settings: settings.clone(),
        files,
    };
    let text = serde_json::to_vec_pretty(&meta).map_err(std::io::Error::other)?;
    let meta_path = directory.join(META_FILE);
    fs::write(&meta_path, &text)?;
    sync(&meta_path)?;
    sync(directory)?;
    Ok(bytes + text.len() as u64)
}

/// Waits until a file, or the entries of a directory, are on disk.
fn sync(path: &Path) -> std::io::Result<()> {
    File::open(path)?.sync_all()
}

fn digest(directory: &Path, name: &str) -> std::io::Result<FileDigest> {
    let mut file = File::open(directory.join(name))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        hasher.update(&buffer[..count]);
    }
    let mut sha256 = String::new();
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(sha256, "{byte:02x}");
    }
    Ok(FileDigest { name: name.to_owned(), bytes, sha256 })
}

enum LoadError {
    Mismatch(String),
    Damaged(String),
}

fn load(path: &Path, settings: &RunSettings, device: &Device) -> Result<State, LoadError> {
    let damaged = |error: &dyn std::fmt::Display| LoadError::Damaged(error.to_string());
    let text = fs::read(path.join(META_FILE))
        .map_err(|error| damaged(&format!("{META_FILE}: {error}")))?;
    let version = serde_json::from_slice::<serde_json::Value>(&text)
        .map_err(|error| damaged(&format!("{META_FILE}: {error}")))?["format_version"]
        .as_u64();
    if version.is_some_and(|version| version > u64::from(FORMAT_VERSION)) {
        return Err(LoadError::Mismatch(format!(
            "its format version is {}, and this build reads up to {FORMAT_VERSION}",
            version.unwrap_or_default()
        )));
    }
    let meta: Meta =
        serde_json::from_slice(&text).map_err(|error| damaged(&format!("{META_FILE}: {error}")))?;
    if let Some(difference) = meta.settings.difference(settings) {
        return Err(LoadError::Mismatch(difference));
    }
    if meta.files.iter().map(|file| file.name.as_str()).ne([WEIGHTS_FILE, OPTIMISER_FILE]) {
        return Err(damaged(&format!("{META_FILE}: does not list the two tensor files")));
    }
    for expected in &meta.files {
        let actual = digest(path, &expected.name)
            .map_err(|error| damaged(&format!("{}: {error}", expected.name)))?;
        if actual.bytes != expected.bytes {
            return Err(damaged(&format!(
                "{} has {} of {} bytes",
                expected.name, actual.bytes, expected.bytes
            )));
        }
        if actual != *expected {
            return Err(damaged(&format!(
                "{} has another digest than {META_FILE} says",
                expected.name
            )));
        }
    }
    let read = |name: &str| {
        candle_core::safetensors::load(path.join(name), device).map_err(|error| damaged(&error))
    };
    let parameters = read(WEIGHTS_FILE)?.into_iter().collect();
    let (mut first_moments, mut second_moments) = (BTreeMap::new(), BTreeMap::new());
    for (name, tensor) in read(OPTIMISER_FILE)? {
        if let Some(name) = name.strip_prefix("first.") {
            first_moments.insert(name.to_owned(), tensor);
        } else if let Some(name) = name.strip_prefix("second.") {
            second_moments.insert(name.to_owned(), tensor);
        }
    }
    Ok(State { step: meta.step, loss: meta.loss, parameters, first_moments, second_moments })
}
