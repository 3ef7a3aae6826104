//! Reading values out of a tree that the walk has accepted.

use std::collections::BTreeMap;
use std::time::Duration;

use cotenant_core::units::{
    Bytes, BytesPerSecond, Money, RatePerSecond, Share, parse_count, parse_duration,
};

use super::scalar;
use super::tree::{Node, NodeKind};

/// A group of keys. Every getter yields `None` where the key is absent.
#[derive(Clone, Copy)]
pub(super) struct View<'a>(pub(super) &'a Node);

impl<'a> View<'a> {
    pub(super) fn node(self, key: &str) -> Option<&'a Node> {
        self.0.entry(key).map(|entry| &entry.value)
    }

    pub(super) fn has(self, key: &str) -> bool {
        self.node(key).is_some()
    }

    /// The group behind a key.
    pub(super) fn group(self, key: &str) -> Option<View<'a>> {
        self.node(key).filter(|node| matches!(node.kind, NodeKind::Map(_))).map(View)
    }

    /// The items of the list behind a key; empty where it is absent.
    pub(super) fn list(self, key: &str) -> impl Iterator<Item = View<'a>> {
        self.node(key).map_or(&[][..], Node::items).iter().map(View)
    }

    /// The names behind a key with what stands under each; empty where it is absent.
    pub(super) fn by_name(self, key: &str) -> impl Iterator<Item = (&'a str, View<'a>)> {
        let entries = self.node(key).map_or(&[][..], Node::entries);
        entries.iter().map(|entry| (entry.key.as_str(), View(&entry.value)))
    }

    /// The name of a variant and its settings, if it has any.
    pub(super) fn variant(self, key: &str) -> Option<(&'a str, View<'a>)> {
        let node = self.node(key)?;
        match &node.kind {
            NodeKind::Scalar(text) => Some((text, View(node))),
            NodeKind::Map(entries) => {
                entries.first().map(|entry| (entry.key.as_str(), View(&entry.value)))
            }
            _ => None,
        }
    }

    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.node(key)?.text()
    }

    pub(super) fn string(self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    pub(super) fn texts(self, key: &str) -> Vec<String> {
        self.list(key).filter_map(|item| item.0.text()).map(str::to_owned).collect()
    }

    pub(super) fn text_map(self, key: &str) -> BTreeMap<String, String> {
        self.by_name(key)
            .filter_map(|(name, value)| Some((name.to_owned(), value.0.text()?.to_owned())))
            .collect()
    }

    pub(super) fn flag(self, key: &str) -> Option<bool> {
        scalar::flag(self.text(key)?).ok()
    }

    pub(super) fn integer(self, key: &str) -> Option<i64> {
        scalar::integer(self.text(key)?, i64::MIN, i64::MAX).ok()
    }

    pub(super) fn whole(self, key: &str) -> Option<u32> {
        self.integer(key).and_then(|value| u32::try_from(value).ok())
    }

    pub(super) fn number(self, key: &str) -> Option<f64> {
        scalar::number(self.text(key)?).ok()
    }

    pub(super) fn count(self, key: &str) -> Option<u64> {
        parse_count(self.text(key)?).ok()
    }

    pub(super) fn duration(self, key: &str) -> Option<Duration> {
        parse_duration(self.text(key)?).ok()
    }

    pub(super) fn bytes(self, key: &str) -> Option<Bytes> {
        Bytes::parse(self.text(key)?).ok()
    }

    pub(super) fn bandwidth(self, key: &str) -> Option<BytesPerSecond> {
        BytesPerSecond::parse(self.text(key)?).ok()
    }

    pub(super) fn rate(self, key: &str) -> Option<RatePerSecond> {
        RatePerSecond::parse(self.text(key)?).ok()
    }

    pub(super) fn share(self, key: &str) -> Option<Share> {
        Share::parse(self.text(key)?).ok()
    }

    pub(super) fn money(self, key: &str) -> Option<Money> {
        Money::parse(self.text(key)?).ok()
    }

    /// Numbers behind a key, ascending and each once: a list, or text such as `0-3,6`.
    pub(super) fn indexes(self, key: &str) -> Option<Vec<u32>> {
        View(self.node(key)?).own_indexes()
    }

    /// The node itself as numbers.
    pub(super) fn own_indexes(self) -> Option<Vec<u32>> {
        if let Some(text) = self.0.text() {
            return scalar::indexes(text).ok();
        }
        let mut indexes: Vec<u32> =
            self.0.items().iter().map(|item| item.text()?.parse().ok()).collect::<Option<_>>()?;
        indexes.sort_unstable();
        indexes.dedup();
        Some(indexes)
    }

    /// The member of a set whose name stands behind a key.
    pub(super) fn word<T: Copy>(
        self,
        key: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Option<T> {
        let text = self.text(key)?;
        all.iter().copied().find(|member| name(*member) == text)
    }

    /// What a parser makes of the text behind a key.
    pub(super) fn parsed<T, E>(self, key: &str, parse: fn(&str) -> Result<T, E>) -> Option<T> {
        parse(self.text(key)?).ok()
    }
}
