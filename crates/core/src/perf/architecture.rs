//! The shape of a decoder-only transformer: what its passes read and compute.

/// A model's shape. Counts are those of its `config.json`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Architecture {
    /// Layers.
    pub layers: u32,
    /// Width of the residual stream.
    pub hidden: u32,
    /// Query heads.
    pub heads: u32,
    /// Key and value heads.
    pub kv_heads: u32,
    /// Width of a head.
    pub head_dim: u32,
    /// Width of the feed-forward network that every token goes through: the dense one, or the
    /// shared expert; 0 where there are only chosen experts.
    pub intermediate: u32,
    /// Tokens of the vocabulary.
    pub vocabulary: u32,
    /// Experts of each layer, of which every token goes through some.
    pub experts: Option<Experts>,
    /// Bytes of a weight of the feed-forward networks: 2 for bfloat16, 1 for eight bits.
    pub weight_bytes: f64,
    /// Bytes of a weight of attention and of the output head, which quantisation often spares.
    pub attention_weight_bytes: f64,
    /// Bytes of a number in the KV cache.
    pub kv_bytes: f64,
}

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    /// How many there are in each layer.
    pub count: u32,
    /// How many each token goes through.
    pub chosen: u32,
    /// Width of each.
    pub intermediate: u32,
}

impl Architecture {
    /// Bytes of weights that every pass reads, whatever is in it.
    pub fn bytes_always(&self) -> f64 {
        let attention = self.attention_weights() * self.attention_weight_bytes;
        let dense = self.feed_forward(self.intermediate) * self.weight_bytes;
        let head = f64::from(self.vocabulary) * f64::from(self.hidden);
        f64::from(self.layers) * (attention + dense) + head * self.attention_weight_bytes
    }

    /// Bytes of all experts' weights, which a pass reads as far as its tokens choose them.
    pub fn bytes_of_experts(&self) -> f64 {
        self.experts.map_or(0.0, |experts| {
            let each = self.feed_forward(experts.intermediate) * self.weight_bytes;
            f64::from(self.layers) * f64::from(experts.count) * each
        })
    }

    /// Operations of the layers' matrices for each token: two for each weight that it goes through.
    pub fn flops_per_token(&self) -> f64 {
        let weights = self.attention_weights() + self.feed_forward(self.intermediate);
        2.0 * f64::from(self.layers) * weights + self.flops_of_experts_per_token()
    }

    /// The part of [`Self::flops_per_token`] that chosen experts have.
    pub fn flops_of_experts_per_token(&self) -> f64 {
        let chosen = self.experts.map_or(0.0, |experts| {
            f64::from(experts.chosen) * self.feed_forward(experts.intermediate)
        });
        2.0 * f64::from(self.layers) * chosen
    }

    /// Operations of attention for each pair of a new token and one that it looks at: a product
    /// with the keys and one with the values.
    pub fn flops_per_pair(&self) -> f64 {
        4.0 * f64::from(self.layers) * f64::from(self.heads) * f64::from(self.head_dim)
    }

    /// Bytes that a token takes in the KV cache.
    pub fn kv_bytes_per_token(&self) -> f64 {
        let width = f64::from(self.kv_heads) * f64::from(self.head_dim);
        2.0 * f64::from(self.layers) * width * self.kv_bytes
    }

    fn attention_weights(&self) -> f64 {
        let heads = f64::from(self.heads) + f64::from(self.kv_heads);
        2.0 * f64::from(self.hidden) * heads * f64::from(self.head_dim)
    }

    /// Weights of a gated feed-forward network: gate, up and down.
    fn feed_forward(&self, intermediate: u32) -> f64 {
        3.0 * f64::from(self.hidden) * f64::from(intermediate)
    }
}
