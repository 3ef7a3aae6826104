//! The few engine metrics that a block keeps: how many requests wait.

/// Names of the gauge of waiting requests, by engine: vLLM, SGLang, TGI, TensorRT-LLM, llama.cpp.
const WAITING: [&str; 5] = [
    "vllm:num_requests_waiting",
    "sglang:num_queue_reqs",
    "tgi_queue_size",
    "trtllm_num_requests_waiting",
    "llamacpp:requests_deferred",
];

/// Requests that wait in the engine, from its Prometheus text: the sum over label sets of the first
/// known family that occurs. `None` where none does, or where a value is no number.
///
/// ```
/// # use cotenant_probe::engine_metrics::waiting;
/// let text = "# TYPE vllm:num_requests_waiting gauge\n\
///             vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 3.0\n\
///             vllm:num_requests_waiting_by_reason{reason=\"capacity\"} 3.0\n";
/// assert_eq!(waiting(text), Some(3.0));
/// assert_eq!(waiting("up 1\n"), None);
/// ```
pub fn waiting(text: &str) -> Option<f64> {
    WAITING.into_iter().find_map(|family| {
        let values: Vec<f64> = text
            .lines()
            .filter_map(|line| {
                let rest = line.strip_prefix(family)?;
                // A longer name is another family.
                let value = match rest.chars().next()? {
                    '{' => &rest[rest.rfind('}')? + 1..],
                    ' ' | '\t' => rest,
                    _ => return None,
                };
                value.split_whitespace().next()?.parse::<f64>().ok()
            })
            .collect();
        let sum: f64 = values.iter().sum();
        (!values.is_empty() && sum.is_finite()).then_some(sum)
    })
}
