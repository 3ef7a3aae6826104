//! An engine that gives its memory back and stays: vLLM's sleep over its API (`--enable-sleep-mode` and
//! `VLLM_SERVER_DEV_MODE=1`).
//!
//! Level 1 copies the weights to host memory and drops the cache; level 2 drops both, so that the
//! wake-up has to load the weights again and forget the prefixes that it has cached.

use std::time::{Duration, Instant};

use cotenant_core::evidence::ChangePart;

use crate::http;

/// Pause between two questions whether it sleeps.
const PAUSE: Duration = Duration::from_millis(20);

/// An engine's switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSwitch {
    /// Base URL, without a trailing slash.
    pub endpoint: String,
    /// 1 or 2.
    pub level: u8,
    /// Longest wait for one call, and for what it should bring about.
    pub patience: Duration,
}

impl EngineSwitch {
    /// Puts the engine to sleep and waits until it says so itself.
    pub(super) async fn sleep(&self, parts: &mut Vec<ChangePart>) -> Result<(), String> {
        self.call("sleep", &format!("/sleep?level={}", self.level), None, parts).await?;
        self.until(true, parts).await
    }

    /// Wakes it up and waits until it says so itself.
    pub(super) async fn wake(&self, parts: &mut Vec<ChangePart>) -> Result<(), String> {
        if self.level == 1 {
            self.call("wake up", "/wake_up", None, parts).await?;
        } else {
            // Weights first: the cache would take the memory that they need.
            self.call("wake up weights", "/wake_up?tags=weights", None, parts).await?;
            let reload = Some(r#"{"method":"reload_weights"}"#);
            self.call("reload weights", "/collective_rpc", reload, parts).await?;
            self.call("wake up cache", "/wake_up?tags=kv_cache", None, parts).await?;
            self.call("reset prefix cache", "/reset_prefix_cache", None, parts).await?;
        }
        self.until(false, parts).await
    }

    /// Whether it sleeps.
    ///
    /// # Errors
    /// A sentence: it does not say.
    pub(super) async fn sleeps(&self) -> Result<bool, String> {
        let url = format!("{}/is_sleeping", self.endpoint);
        let (status, body) =
            http::get(&url, self.patience).await.map_err(|error| error.to_string())?;
        let answer: Option<serde_json::Value> = serde_json::from_slice(&body).ok();
        let says = answer.and_then(|answer| answer.get("is_sleeping")?.as_bool());
        match says.filter(|_| status == 200) {
            Some(sleeps) => Ok(sleeps),
            None => Err(format!(
                "GET {url}: status {status} and no word whether it sleeps: the engine needs \
                 `--enable-sleep-mode` and VLLM_SERVER_DEV_MODE=1"
            )),
        }
    }

    async fn call(
        &self,
        name: &str,
        path: &str,
        json: Option<&str>,
        parts: &mut Vec<ChangePart>,
    ) -> Result<(), String> {
        let began = Instant::now();
        let url = format!("{}{path}", self.endpoint);
        let (status, body) = http::post(&url, json, self.patience).await?;
        if !(200..300).contains(&status) {
            let said = String::from_utf8_lossy(&body);
            let said: String = said.trim().chars().take(200).collect();
            return Err(format!("POST {url}: status {status} {said}").trim_end().to_owned());
        }
        parts.push(ChangePart {
            name: name.to_owned(),
            seconds: began.elapsed().as_secs_f64(),
            logged: false,
        });
        Ok(())
    }

    /// Waits until the engine says that it sleeps, or does not: a call that returned is no proof.
    async fn until(&self, sleeps: bool, parts: &mut Vec<ChangePart>) -> Result<(), String> {
        let began = Instant::now();
        while self.sleeps().await? != sleeps {
            if began.elapsed() > self.patience {
                let state = if sleeps { "it does not sleep" } else { "it still sleeps" };
                return Err(format!("{state}, {:?} after it was told", self.patience));
            }
            tokio::time::sleep(PAUSE).await;
        }
        parts.push(ChangePart {
            name: "until it says so".to_owned(),
            seconds: began.elapsed().as_secs_f64(),
            logged: false,
        });
        Ok(())
    }
}
