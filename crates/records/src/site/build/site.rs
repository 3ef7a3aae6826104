//! The whole site.

use cotenant_core::site::{Operations, Site, SiteKind};

use super::{machine, operations, sharing, workload};
use crate::site::deadline::{instant, time_zone};
use crate::site::tree::Node;
use crate::site::view::View;

/// Builds the site.
pub(in crate::site) fn build(root: &Node) -> Option<Site> {
    let view = View(root);
    let time_zone = time_zone(view.text("time_zone")?).ok()?;
    let as_of = match view.text("as_of") {
        Some(text) => Some(instant(text, &time_zone)?),
        None => None,
    };
    let kind = match view.group("server") {
        Some(server) => SiteKind::Server(Box::new(machine::server(server)?)),
        None => SiteKind::Pool(machine::pool(view.group("pool")?)?),
    };
    let workloads = view
        .list("workloads")
        .map(|item| workload::workload(item, &time_zone))
        .collect::<Option<_>>()?;
    let operations = match view.group("operations") {
        Some(group) => operations::operations(group)?,
        None => Operations::default(),
    };
    let sharing = sharing::sharing(view.group("sharing")?)?;
    Some(Site {
        name: view.string("name")?,
        time_zone,
        as_of,
        kind,
        workloads,
        sharing,
        operations,
    })
}
