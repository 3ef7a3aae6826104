//! Kubernetes and Kueue.

use cotenant_probe::scheduler::{Absence, Kind, Pod, Reading, RefusalClass, Wait, amount_of};

use super::{of_text, reading};

fn only_pod(path: &str) -> Option<Pod> {
    let mut read = reading(path)?;
    assert_eq!(read.pods.len(), 1, "{path}");
    read.pods.pop()
}

#[test]
fn a_pod_that_no_node_takes() {
    let Some(pod) = only_pod("k8s/ood_single_unscheduleable_pod.json") else { return };
    assert_eq!((pod.namespace.as_deref(), pod.name.as_deref()), (Ok("johrstrom"), Ok("bash")));
    assert_eq!((pod.phase.as_deref(), pod.node.clone()), (Ok("Pending"), Err(Absence::NotInFile)));
    let why = pod.unschedulable.unwrap();
    assert_eq!((why.nodes_available, why.nodes_total), (0, 3));
    assert_eq!((why.reasons[0].nodes, why.reasons[0].class), (Some(3), RefusalClass::Selector));
    assert_eq!(pod.started, Err(Absence::NotStarted));
}

#[test]
fn pods_by_what_their_containers_do() {
    for (file, phase, reason, ready) in [
        ("crash_loop_pod", "Running", Some("CrashLoopBackOff"), 0),
        ("image_error_pod", "Pending", Some("ImagePullBackOff"), 0),
        ("error_pod", "Failed", Some("Error"), 0),
        ("completed_pod", "Succeeded", Some("Completed"), 0),
        ("queued_pod", "Pending", Some("PodInitializing"), 0),
        ("running_pod", "Running", None, 1),
        ("running_pod_not_ready", "Running", None, 0),
    ] {
        let Some(pod) = only_pod(&format!("k8s/ood_single_{file}.json")) else { return };
        assert_eq!(pod.phase.as_deref(), Ok(phase), "{file}");
        assert_eq!(pod.containers_ready, Ok(ready), "{file}");
        match reason {
            Some(reason) => {
                assert!(pod.container_reasons.iter().any(|one| one == reason), "{file}");
            }
            None => {
                assert!(!pod.container_reasons.iter().any(|one| one.contains("BackOff")), "{file}");
            }
        }
        assert_eq!(pod.unschedulable, Err(Absence::NotSet), "{file}");
    }
    let four = reading("k8s/ood_several_pods.json").unwrap();
    let phases: Vec<&str> = four.pods.iter().map(|pod| pod.phase.as_deref().unwrap()).collect();
    assert_eq!(phases, ["Succeeded", "Pending", "Failed", "Running"]);
    assert_eq!(four.pods[2].exit_codes, [1]);
    let service = reading("k8s/ood_single_service.json").unwrap();
    assert_eq!(
        (service.others[0].kind.as_str(), service.others[0].name.as_deref()),
        ("Service", Ok("jupyter-bmurb8sa-service"))
    );
}

#[test]
fn shares_of_gpus_stand_in_annotations() {
    let Some(share) = only_pod("k8s/runai_2.17__fractional_pod.yaml") else { return };
    assert!(share.gpus.is_empty(), "its resources ask for none");
    let said = |name: &str| {
        share.gpu_annotations.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    };
    assert_eq!(said("gpu-fraction"), Some("0.5"));
    assert_eq!(said("runai-allocated-gpu-memory"), Some("7680"));
    let holder = only_pod("k8s/runai_2.17__fractional_pod_reservation.yaml").unwrap();
    assert_eq!(amount_of(&holder.gpus, "nvidia.com/gpu"), Some(1.0));
    assert_eq!(holder.scheduler.as_deref(), Ok("runai-scheduler"));
    let slice = only_pod("k8s/runai_lt2.9__mig__pod__1g-5gb.yaml").unwrap();
    assert!(slice.gpu_annotations.contains(&("nvidia.com/mig-1g.5gb".to_owned(), "1".to_owned())));
}

#[test]
fn nodes_with_mig_instances() {
    let Some(read) = reading("k8s/runai_lt2.9__mig__node__4_instances.yaml") else { return };
    let node = &read.kubernetes_nodes[0];
    assert_eq!(
        (node.name.as_deref(), node.ready.as_deref()),
        (Ok("qa-mig-worker-gpu-a100"), Ok("True"))
    );
    assert_eq!(node.allocatable_of("nvidia.com/mig-1g.5gb"), Some(3.0));
    assert_eq!(node.allocatable_of("nvidia.com/mig-3g.20gb"), Some(0.0));
    assert_eq!(
        amount_of(&node.capacity, "nvidia.com/mig-3g.20gb"),
        Some(1.0),
        "had, and no longer given"
    );
    assert_eq!(node.allocatable_of("memory"), Some(87_425_380.0 * 1024.0));
    assert_eq!(node.mig_strategy.as_deref(), Ok("mixed"));
    let whole = reading("k8s/runai_lt2.9__fraction__node__1_workload.yaml").unwrap();
    let node = &whole.kubernetes_nodes[0];
    assert_eq!((node.gpu_product.as_deref(), node.gpu_count.clone()), (Ok("Tesla-T4"), Ok(2)));
    assert_eq!(node.gpu_memory_mib, Ok(15_360.0));
    assert_eq!(
        reading("k8s/runai_ge2.9__mig__node__7g-40gb.yaml").unwrap().kubernetes_nodes[0]
            .is_cordoned,
        Ok(false)
    );
}

#[test]
fn tables_of_kubectl() {
    let Some(read) = reading("nvidia-docs/mig-get-pods.txt") else { return };
    assert_eq!((read.kind, read.pods.len()), (Kind::KubectlTable, 12));
    let validator = &read.pods[6];
    assert_eq!(validator.name.as_deref(), Ok("nvidia-cuda-validator-wt6bc"));
    assert_eq!(
        (validator.phase.as_deref(), validator.containers_ready.clone()),
        (Ok("Succeeded"), Ok(0))
    );
    let text = "NAMESPACE   NAME      READY   STATUS             RESTARTS       AGE   IP       NODE     NOMINATED NODE   READINESS GATES\n\
                ml          train-0   0/1     CrashLoopBackOff   4 (12s ago)    3m    10.0.0.3  gpu1     <none>           <none>\n\
                ml          train-1   0/1     Pending            0              3m    <none>   <none>   <none>           <none>\n";
    let read = of_text(text);
    assert_eq!(read.pods[0].restarts, Ok(4));
    assert_eq!(
        (read.pods[0].node.as_deref(), read.pods[0].container_reasons.len()),
        (Ok("gpu1"), 1)
    );
    assert_eq!(read.pods[1].node, Err(Absence::NotSet));
    let nodes = of_text(
        "NAME   STATUS                     ROLES    AGE   VERSION\n\
         gpu1   Ready,SchedulingDisabled   <none>   12d   v1.31.2\n\
         gpu2   NotReady                   <none>   12d   v1.31.2\n",
    );
    assert_eq!(
        (nodes.kubernetes_nodes[0].ready.as_deref(), nodes.kubernetes_nodes[0].is_cordoned.clone()),
        (Ok("True"), Ok(true))
    );
    assert_eq!(nodes.kubernetes_nodes[1].ready.as_deref(), Ok("False"));
    let events = of_text(
        "LAST SEEN   TYPE      REASON             OBJECT        MESSAGE\n\
         2m10s       Warning   FailedScheduling   pod/train-1   0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) were unschedulable.\n",
    );
    let event = &events.events[0];
    assert_eq!((event.age_s.clone(), event.object.as_deref()), (Ok(130), Ok("pod/train-1")));
    let classes: Vec<RefusalClass> =
        event.unschedulable.as_ref().unwrap().reasons.iter().map(|one| one.class).collect();
    assert_eq!(classes, [RefusalClass::Gpu, RefusalClass::Unschedulable]);
}

#[test]
fn descriptions() {
    let pod = "Name:             train-0\nNamespace:        ml\nPriority:         0\nNode:             <none>\n\
               Labels:           kueue.x-k8s.io/queue-name=user-queue\nStatus:           Pending\nContainers:\n  trainer:\n\
               \x20   Image:      x\n    Limits:\n      nvidia.com/gpu:  8\n    Requests:\n      nvidia.com/gpu:  8\n\
               Conditions:\n  Type           Status\n  PodScheduled   False\nEvents:\n\
               \x20 Type     Reason            Age                From               Message\n\
               \x20 ----     ------            ----               ----               -------\n\
               \x20 Warning  FailedScheduling  13s (x2 over 15s)  default-scheduler  0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n";
    let read = of_text(pod);
    assert_eq!(read.kind, Kind::KubectlDescribe);
    assert_eq!(amount_of(&read.pods[0].gpus, "nvidia.com/gpu"), Some(8.0));
    assert_eq!(read.pods[0].queue.as_deref(), Ok("user-queue"));
    assert_eq!(read.pods[0].unschedulable.as_ref().unwrap().reasons[0].nodes, Some(4));
    assert_eq!((read.events.len(), read.events[0].count.clone()), (1, Ok(2)));
    let node = "Name:               gpu1\nRoles:              <none>\nLabels:             nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3\n\
                \x20                   nvidia.com/mig.config=all-1g.10gb\n                    nvidia.com/mig.config.state=pending\n\
                Taints:             nvidia.com/gpu:NoSchedule\nUnschedulable:      false\n\
                Capacity:\n  cpu:             96\n  nvidia.com/gpu:  8\nAllocatable:\n  cpu:             95\n  nvidia.com/gpu:  7\n";
    let read = of_text(node);
    let node = &read.kubernetes_nodes[0];
    assert_eq!(node.allocatable_of("nvidia.com/gpu"), Some(7.0));
    assert_eq!(
        (node.mig_config.as_deref(), node.mig_config_state.as_deref()),
        (Ok("all-1g.10gb"), Ok("pending"))
    );
    assert_eq!((node.taints.len(), node.is_cordoned.clone()), (1, Ok(false)));
}

#[test]
fn a_workload_that_was_preempted_and_ended() {
    let Some(read) = reading("k8s/datadog_kueue_workload_evicted.json") else { return };
    let one = &read.workloads[0];
    assert_eq!((one.queue.as_deref(), one.cluster_queue.as_deref()), (Ok("gpu"), Ok("default")));
    assert_eq!(
        (one.evicted.as_deref(), one.preempted.as_deref()),
        (Ok("Preempted"), Ok("InClusterQueue"))
    );
    assert_eq!((one.is_finished.clone(), one.wait.clone()), (Ok(true), Err(Absence::NotSet)));
    assert_eq!(one.priority_class.as_deref(), Ok("high"));
}

#[test]
fn quota_that_is_missing_and_quota_that_never_suffices() {
    let Some(read) = reading("k8s/kueue_issue3909_conditions.yaml") else { return };
    let one = &read.workloads[0];
    assert_eq!(one.wait, Ok(Wait::Quota));
    assert_eq!(one.quota_short.len(), 4);
    let master = &one.quota_short[0];
    assert_eq!(
        (master.pod_set.as_deref(), master.flavor.as_str()),
        (Some("master"), "multi-node-h100")
    );
    assert_eq!(
        (master.resource.as_str(), master.more_needed.as_deref()),
        ("nvidia.com/gpu", Some("8"))
    );
    let worker = &one.quota_short[3];
    assert_eq!(
        (worker.pod_set.as_deref(), worker.flavor.as_str()),
        (Some("worker"), "single-node-h100")
    );
    assert_eq!(worker.over_capacity, Some(("24".to_owned(), "16".to_owned())));
}

fn waits(read: &Reading) -> Vec<Result<Wait, Absence>> {
    read.workloads.iter().map(|one| one.wait.clone()).collect()
}

#[test]
fn passages_of_documentation() {
    let Some(read) = reading("k8s/kueue_docs_troubleshooting_jobs.txt") else { return };
    let waits = waits(&read);
    // Insufficient quota, a check that is pending, a queue that does not exist, insufficient unused quota.
    for wait in [Wait::Quota, Wait::Check, Wait::Configuration] {
        assert!(waits.contains(&Ok(wait)), "{wait:?} in {waits:?}");
    }
    let evicted = read.workloads.iter().find(|one| one.evicted.is_ok()).unwrap();
    assert_eq!(evicted.evicted.as_deref(), Ok("Preempted"));
    assert_eq!(evicted.quota_short[0].more_needed.as_deref(), Some("9"));
    assert_eq!((read.pods.len(), read.pods[4].phase.as_deref()), (5, Ok("Pending")));
    assert_eq!(read.events[0].unschedulable.as_ref().unwrap().reasons[0].nodes, Some(9));
    assert_eq!(read.quotas[0].limit, Ok(40.0));
    let shared = reading("k8s/kueue_docs_share_quotas_across_flavors.txt").unwrap();
    assert_eq!(shared.quotas[0].flavor.as_deref(), Some("a100"));
    assert_eq!(
        (shared.quotas[0].limit.clone(), shared.quotas[3].limit.clone()),
        (Ok(8.0), Ok(500.0))
    );
    let last = &shared.workloads[4];
    assert_eq!(
        (last.queue.as_deref(), last.has_quota.clone(), last.wait.clone()),
        (Ok("team-queue"), Ok(false), Err(Absence::NotInFile))
    );
    let queues = reading("k8s/kueue_docs_troubleshooting_queues.txt").unwrap();
    let seen: Vec<_> = queues
        .queues
        .iter()
        .map(|one| (one.is_active.clone(), one.active_reason.as_deref()))
        .collect();
    assert_eq!(
        seen,
        [
            (Ok(false), Ok("ClusterQueueIsInactive")),
            (Ok(false), Ok("FlavorNotFound")),
            (Ok(true), Ok("Ready"))
        ]
    );
    let request = reading("k8s/kueue_docs_troubleshooting_provreq.txt").unwrap();
    assert_eq!(
        (request.others[0].kind.as_str(), request.skipped_total),
        ("ProvisioningRequest", 6)
    );
}

#[test]
fn nodes_in_documentation() {
    let Some(read) = reading("nvidia-docs/kubernetes__index.txt") else { return };
    let products: Vec<&str> =
        read.kubernetes_nodes.iter().filter_map(|node| node.gpu_product.as_deref().ok()).collect();
    let whole = "A100-SXM4-40GB";
    assert_eq!(products, [whole, whole, "A100-SXM4-40GB-MIG-1g.5gb", whole]);
    let seven = read
        .kubernetes_nodes
        .iter()
        .filter(|node| node.allocatable_of("nvidia.com/gpu") == Some(7.0));
    assert_eq!(seven.count(), 1);
    let states = reading("nvidia-docs/gpu-operator__gpu-operator-mig.txt").unwrap();
    let seen: Vec<&str> = states
        .kubernetes_nodes
        .iter()
        .filter_map(|node| node.mig_config_state.as_deref().ok())
        .collect();
    assert_eq!(seen, ["pending", "success", "success"]);
    let passed = reading("nvidia-docs/confidential-containers__troubleshooting.txt").unwrap();
    assert_eq!(
        passed.events[0].unschedulable.as_ref().unwrap().reasons[0].class,
        RefusalClass::Gpu
    );
    assert!(
        passed
            .kubernetes_nodes
            .iter()
            .any(|node| node.allocatable_of("nvidia.com/pgpu") == Some(8.0))
    );
}

#[test]
fn reasons_of_newer_kueue_are_classes_of_their_own() {
    let workload = |reason: &str, message: &str| {
        let text = format!(
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n  name: w\nspec:\n  queueName: q\n\
             status:\n  conditions:\n  - type: QuotaReserved\n    status: \"False\"\n    reason: {reason}\n    message: '{message}'\n"
        );
        of_text(&text).workloads[0].wait.clone()
    };
    assert_eq!(
        workload("TopologyPlacementFailed", "x"),
        Ok(Wait::Placement),
        "at the quota's gate, and a place all the same"
    );
    assert_eq!(
        workload("Pending", "topology \"default\" allows to fit only 2 out of 4 pod(s)"),
        Ok(Wait::Placement)
    );
    assert_eq!(workload("WaitingForPreemptedWorkloads", "x"), Ok(Wait::Preemption));
    assert_eq!(
        workload("Pending", "couldn''t assign flavors. Pending the preemption of 2 workload(s)"),
        Ok(Wait::Preemption)
    );
    assert_eq!(workload("Inadmissible", "ClusterQueue x is stopped"), Ok(Wait::Owner));
    assert_eq!(workload("Pending", "something new"), Ok(Wait::Unclear));
}
