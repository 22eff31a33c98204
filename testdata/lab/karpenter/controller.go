package karpenter

import "github.com/whittle-dev/whittle/testdata/lab/supervisor"

const (
	// Namespace is where Karpenter runs by its guide: its Lease lies there.
	Namespace = "kube-system"
	// Account is its service account there.
	Account = "karpenter"
)

// Options say how a controller is run.
type Options struct {
	// Binary is the result of Build.
	Binary string
	// Log is the file that the controller's output is appended to.
	Log string
	// Cluster is the EKS cluster's name, Kubeconfig the path of the controller's own kubeconfig.
	Cluster, Kubeconfig string
	// Queue is the name of the queue of interruptions.
	Queue string
	// AWS has the settings with which its SDK finds the local AWS and its role's credentials.
	AWS []string
}

// Start runs a controller with the settings of Karpenter's chart that matter here. The process is
// restarted when it exits. On a busy machine Karpenter loses its Lease and exits by itself.
func Start(options Options) *supervisor.Process {
	return supervisor.Start(supervisor.Options{
		Binary: options.Binary, Log: options.Log, Environment: append([]string{
			"CLUSTER_NAME=" + options.Cluster, "KUBECONFIG=" + options.Kubeconfig, "INTERRUPTION_QUEUE=" + options.Queue,
			"SYSTEM_NAMESPACE=" + Namespace, "LEADER_ELECTION_NAMESPACE=" + Namespace,
			"METRICS_PORT=0", "HEALTH_PROBE_PORT=0",
			"FEATURE_GATES=ReservedCapacity=true,SpotToSpotConsolidation=false,NodeRepair=false,NodeOverlay=false," +
				"StaticCapacity=false",
		}, options.AWS...),
	})
}
