//! Quantities of Kubernetes, and resources that are GPUs or parts of them.

use serde_json::Value;

use super::super::resources::is_mig_profile;
use super::super::stated::{Absence, Stated, unreadable};
use super::model::Amount;

/// Suffixes of quantities, as the API's documentation lists them.
const SUFFIXES: &[(&str, f64)] = &[
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// A quantity: `500m`, `87425380Ki`, `8`.
pub(in super::super) fn quantity(value: &Value) -> Stated<f64> {
    match value {
        Value::Number(number) => number.as_f64().ok_or(Absence::NotSet),
        Value::String(text) => quantity_of(text),
        Value::Null => Err(Absence::NotSet),
        other => unreadable(&other.to_string()),
    }
}

/// A quantity as text.
pub(in super::super) fn quantity_of(text: &str) -> Stated<f64> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Absence::NotSet);
    }
    // "1e3" and "1E3" are numbers, and "1E" is an exabyte.
    if let Some(number) = finite(text) {
        return Ok(number);
    }
    for (suffix, factor) in SUFFIXES {
        if let Some(number) = text.strip_suffix(suffix).and_then(finite) {
            return Ok(number * factor);
        }
    }
    unreadable(text)
}

fn finite(text: &str) -> Option<f64> {
    let first = text.strip_prefix(['+', '-']).unwrap_or(text).as_bytes().first()?;
    text.parse::<f64>().ok().filter(|number| first.is_ascii_digit() && number.is_finite())
}

/// Whether a resource is a GPU, a part of one, or a share of one that a device plugin offers.
pub(in super::super) fn is_gpu(resource: &str) -> bool {
    let Some((vendor, name)) = resource.split_once('/') else { return false };
    let vendor_has = |words: &[&str]| words.iter().any(|word| vendor.contains(word));
    let name_is = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if vendor_has(&["nvidia.com"]) {
        // nvidia.com/gpu, /gpu.shared, /pgpu, /mig-1g.5gb, HAMi's /gpumem and /gpucores, and virtual GPUs
        // by their card's name.
        return !name_is(&["hostdev", "rdma", "cc."]);
    }
    if vendor_has(&[
        "amd.com",
        "intel.com",
        "habana.ai",
        "gpu",
        "cambricon.com",
        "metax-tech.com",
        "mthreads.com",
        "hygon.com",
        "iluvatar",
    ]) {
        return name_is(&["gpu", "gaudi", "i915", "xe", "mlu", "vgpu", "sgpu", "dcu", "cu", "mx"])
            || name.contains("gpu");
    }
    name_is(&["vgpu", "gpu-mem", "gpu-core", "gpu_mem", "gpu"]) || is_mig_profile(name)
}

/// The amounts of an object `{resource: quantity}` that a caller wants.
pub(in super::super) fn amounts(
    value: Option<&Value>,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Amount> {
    let Some(Value::Object(entries)) = value else { return Vec::new() };
    entries
        .iter()
        .filter(|(resource, _)| is_wanted(resource))
        .map(|(resource, amount)| Amount { resource: resource.clone(), value: quantity(amount) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_the_api_defines_them() {
        for (text, number) in [
            ("500m", 0.5),
            ("8", 8.0),
            ("1Ki", 1024.0),
            ("87425380Ki", 89_523_589_120.0),
            ("1e3", 1000.0),
            ("100M", 1e8),
            ("0.5", 0.5),
        ] {
            assert_eq!(quantity_of(text), Ok(number), "{text}");
        }
        assert!(quantity_of("N/A").is_err());
        assert!(quantity_of("Ki").is_err());
    }

    #[test]
    fn gpus_are_known_by_their_resource() {
        for resource in [
            "nvidia.com/gpu",
            "nvidia.com/gpu.shared",
            "nvidia.com/mig-1g.5gb",
            "nvidia.com/pgpu",
            "nvidia.com/gpumem",
            "amd.com/gpu",
            "gpu.intel.com/i915",
            "habana.ai/gaudi",
            "aliyun.com/gpu-mem",
        ] {
            assert!(is_gpu(resource), "{resource}");
        }
        for resource in [
            "cpu",
            "memory",
            "pods",
            "hugepages-2Mi",
            "rdma/hca",
            "nvidia.com/hostdev",
            "vpc.amazonaws.com/pod-eni",
        ] {
            assert!(!is_gpu(resource), "{resource}");
        }
    }
}
