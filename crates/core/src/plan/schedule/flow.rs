//! A maximum flow by shortest augmenting paths (Dinic 1970), in whole units.

use std::collections::VecDeque;

/// An arc and what may still flow over it.
#[derive(Clone, Copy, Debug)]
struct Arc {
    to: usize,
    residual: i64,
}

/// A network. Each arc stands beside its reverse.
#[derive(Clone, Debug, Default)]
pub(super) struct Network {
    arcs: Vec<Arc>,
    out: Vec<Vec<usize>>,
}

impl Network {
    /// A network of so many nodes.
    pub(super) fn new(nodes: usize) -> Self {
        Self { arcs: Vec::new(), out: vec![Vec::new(); nodes] }
    }

    /// Adds an arc and gives its place.
    pub(super) fn arc(&mut self, from: usize, to: usize, capacity: i64) -> usize {
        let place = self.arcs.len();
        self.arcs.push(Arc { to, residual: capacity });
        self.arcs.push(Arc { to: from, residual: 0 });
        self.out[from].push(place);
        self.out[to].push(place + 1);
        place
    }

    /// Lets an arc carry so much more.
    pub(super) fn widen(&mut self, arc: usize, capacity: i64) {
        self.arcs[arc].residual += capacity;
    }

    /// What flows over an arc.
    pub(super) fn flow(&self, arc: usize) -> i64 {
        self.arcs[arc + 1].residual
    }

    /// Adds all that can still flow, and says how much it was.
    pub(super) fn augment(&mut self, source: usize, sink: usize) -> i64 {
        let mut total = 0;
        loop {
            let level = self.levels(source);
            if level[sink] == usize::MAX {
                return total;
            }
            let mut next = vec![0; self.out.len()];
            loop {
                let pushed = self.push(source, sink, &level, &mut next);
                if pushed == 0 {
                    break;
                }
                total += pushed;
            }
        }
    }

    /// The nodes to which more could flow.
    pub(super) fn reachable(&self, source: usize) -> Vec<bool> {
        self.levels(source).into_iter().map(|level| level != usize::MAX).collect()
    }

    fn levels(&self, source: usize) -> Vec<usize> {
        let mut level = vec![usize::MAX; self.out.len()];
        level[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(node) = queue.pop_front() {
            for &place in &self.out[node] {
                let arc = self.arcs[place];
                if arc.residual > 0 && level[arc.to] == usize::MAX {
                    level[arc.to] = level[node] + 1;
                    queue.push_back(arc.to);
                }
            }
        }
        level
    }

    /// One augmenting path in the layered network. Paths are as short as the layers are few, and
    /// are walked without recursion.
    fn push(&mut self, source: usize, sink: usize, level: &[usize], next: &mut [usize]) -> i64 {
        let mut path: Vec<usize> = Vec::new();
        let mut node = source;
        while node != sink {
            let Some(&place) = self.out[node].get(next[node]) else {
                // A dead end: the arc that led here leads nowhere.
                let Some(last) = path.pop() else { return 0 };
                node = self.arcs[last ^ 1].to;
                next[node] += 1;
                continue;
            };
            let arc = self.arcs[place];
            if arc.residual > 0 && level[arc.to] == level[node] + 1 {
                path.push(place);
                node = arc.to;
            } else {
                next[node] += 1;
            }
        }
        let amount = path.iter().map(|&place| self.arcs[place].residual).min().unwrap_or(0);
        for &place in &path {
            self.arcs[place].residual -= amount;
            self.arcs[place ^ 1].residual += amount;
        }
        amount
    }
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn the_textbook_network_carries_nineteen() {
        // The network of the Wikipedia article on Dinic's algorithm: its maximum flow is 19.
        let mut network = Network::new(6);
        for (from, to, capacity) in [
            (0, 1, 10),
            (0, 2, 10),
            (1, 2, 2),
            (1, 3, 4),
            (1, 4, 8),
            (2, 4, 9),
            (4, 3, 6),
            (3, 5, 10),
            (4, 5, 10),
        ] {
            network.arc(from, to, capacity);
        }
        assert_eq!(network.augment(0, 5), 19);
        assert_eq!(network.augment(0, 5), 0);
        assert!(!network.reachable(0)[5]);
    }

    #[test]
    fn a_widened_arc_carries_more() {
        let mut network = Network::new(3);
        let narrow = network.arc(0, 1, 0);
        network.arc(1, 2, 5);
        assert_eq!(network.augment(0, 2), 0);
        network.widen(narrow, 7);
        assert_eq!(network.augment(0, 2), 5);
        assert_eq!(network.flow(narrow), 5);
    }
}
