//! Applying manifests and waiting for the controllers in them.

use std::sync::Arc;

use serde_json::Value;
use sluice_apply::{Applier, ApplyOptions, Discovery, ManagerPattern, Object, Operation, normalise_all};

use crate::cluster::Cluster;
use crate::command::wait::{judge_deployment, wait_for};
use crate::error::{CommandError, Result};
use crate::kind::Kind;
use crate::output::Console;

/// The field manager of what the command line applies. The controllers take it over by this name.
pub(crate) const MANAGER: &str = "flux";

/// Applies objects in stages, server side, and prints each that changed.
///
/// # Errors
/// The first object that the API server refuses.
pub(crate) async fn apply(cluster: &Cluster, objects: Vec<Value>, console: &Console) -> Result<()> {
    let mut objects = objects
        .into_iter()
        .map(|value| Object::from_value(value).map_err(|error| CommandError::new(error.to_string())))
        .collect::<Result<Vec<Object>>>()?;
    normalise_all(&mut objects);
    let mut options = ApplyOptions::new(MANAGER);
    options.cleanup.managers = vec![ManagerPattern::new("kubectl", Operation::Apply)];
    options.stage_timeout = cluster.timeout;
    let discovery = Arc::new(Discovery::new(cluster.client.clone()));
    let changes = Applier::new(cluster.client.clone(), discovery)
        .apply_staged(objects, &options)
        .await
        .map_err(|failure| CommandError::new(failure.error.to_string()))?;
    let text = changes.changed_text();
    text.lines()
        .filter(|line| !line.is_empty())
        .for_each(|line| console.action(line));
    Ok(())
}

/// Waits until every Deployment among `objects` has rolled out.
///
/// # Errors
/// One that fails, or the deadline, naming it and what is missing.
pub(crate) async fn wait_for_deployments(
    cluster: &Cluster,
    objects: &[Value],
    console: &Console,
) -> Result<()> {
    for object in objects.iter().filter(|object| object["kind"] == "Deployment") {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        wait_for(cluster, &Kind::DEPLOYMENT, name, console, judge_deployment).await?;
        console.success(&format!("{name}: deployment ready"));
    }
    Ok(())
}
