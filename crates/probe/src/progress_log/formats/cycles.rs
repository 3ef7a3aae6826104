//! Blender's Cycles: `Fra:1 Mem:13.08M (Peak 14.83M) | Time:00:00.23 | … | Sample 16/16`, and
//! ` Time: 00:00.33 (Saving: 00:00.09)` at the end of a frame.

use super::clean::CleanLine;
use super::event::{FrameEvent, LineEvent, LogEvent, TileEvent};
use super::number::{leading_clock, leading_count, leading_number, leading_progress, rest_after};

/// Blender prints memory in `M`, 1024 times 1024 bytes.
const BYTES_PER_M: f64 = 1_048_576.0;

/// The frame on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycles {
    frame: Option<u64>,
    render_s: Option<f64>,
    memory_peak_bytes: Option<u64>,
    scene_peak_bytes: Option<u64>,
}

impl Cycles {
    pub(super) fn read(&mut self, line: &CleanLine) -> Option<LineEvent> {
        let text = line.text.as_str();
        if let Some(rest) = text.strip_prefix("Fra:") {
            return self.progress(rest);
        }
        let rest = text.strip_prefix("Time:")?;
        let (time_s, rest) = leading_clock(rest.trim_start())?;
        let saving_s = rest_after(rest, "(Saving:").and_then(leading_clock).map(|(s, _)| s);
        // Without the line of a frame before it, this is another program's time.
        let done = std::mem::take(self);
        Some(LineEvent::Other(LogEvent::Frame(FrameEvent {
            frame: done.frame?,
            time_s,
            saving_s,
            render_s: done.render_s,
            memory_peak_bytes: done.memory_peak_bytes,
            scene_memory_peak_bytes: done.scene_peak_bytes,
        })))
    }

    fn progress(&mut self, rest: &str) -> Option<LineEvent> {
        let (frame, rest) = leading_count(rest)?;
        if self.frame != Some(frame) {
            *self = Self { frame: Some(frame), ..Self::default() };
        }
        let (mut samples, mut tiles, mut elapsed_s) = (None, None, None);
        for field in rest.split('|').map(str::trim) {
            if let Some(clock) = field.strip_prefix("Time:") {
                elapsed_s = leading_clock(clock.trim_start()).map(|(s, _)| s);
                self.render_s = elapsed_s.or(self.render_s);
            } else if let Some(peak) = rest_after(field, "(Peak ") {
                self.memory_peak_bytes = bytes(peak).or(self.memory_peak_bytes);
            } else if let Some(peak) = rest_after(field, "Peak:") {
                self.scene_peak_bytes = bytes(peak).max(self.scene_peak_bytes);
            }
            for part in field.split(',').map(str::trim) {
                samples = progress_after(part, "Sample ").or(samples);
                tiles = progress_after(part, "Rendered ")
                    .filter(|_| part.ends_with("Tiles"))
                    .or_else(|| progress_after(part, "Tile "))
                    .or(tiles);
            }
        }
        (samples.is_some() || tiles.is_some()).then_some(LineEvent::Other(LogEvent::Tile(
            TileEvent { frame, tiles, samples, elapsed_s },
        )))
    }
}

fn progress_after(text: &str, marker: &str) -> Option<(u64, u64)> {
    leading_progress(rest_after(text, marker)?).map(|(done, of, _)| (done, of))
}

fn bytes(text: &str) -> Option<u64> {
    let (value, unit) = leading_number(text)?;
    (unit.starts_with('M') && value >= 0.0).then(|| (value * BYTES_PER_M).round() as u64)
}
