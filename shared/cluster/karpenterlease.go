package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// KarpenterLease is the Lease by which Karpenter's replicas choose their leader. It is in
	// Karpenter's namespace: kube-system by its guide.
	KarpenterLease = "karpenter-leader-election"
	// clockLeeway is how far the clock of a Lease's holder may be behind. A Lease counts for that
	// much longer.
	clockLeeway = 5 * time.Second
	// karpenterLeaseDuration is Karpenter's default, for a Lease without a duration.
	karpenterLeaseDuration = 15 * time.Second
	// maximumLeaseDuration is the longest time for which a Lease counts after its renewal. A
	// longer one would keep Whittle in standby after Karpenter has gone.
	maximumLeaseDuration = time.Minute
	// maximumAhead is how far a renewal may be in the future. A later one was not written by a
	// clock.
	maximumAhead = 30 * time.Second
	// hostnameLength is the length at which a kubelet cuts the name of a pod for its hostname.
	hostnameLength = 63
)

// ServiceAccount names a service account of a cluster.
type ServiceAccount struct{ Namespace, Name string }

func (a ServiceAccount) String() string { return a.Namespace + "/" + a.Name }

// KarpenterAccounts are the service accounts of Karpenter where its guides install it.
func KarpenterAccounts() []ServiceAccount {
	return []ServiceAccount{{Namespace: "kube-system", Name: "karpenter"}, {Namespace: "karpenter", Name: "karpenter"}}
}

// ParseServiceAccounts reads a list such as kube-system/karpenter,karpenter/karpenter. The error
// names the item that is no NAMESPACE/NAME.
func ParseServiceAccounts(text string) ([]ServiceAccount, error) {
	var accounts []ServiceAccount
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		namespace, name, found := strings.Cut(item, "/")
		if !found || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, fmt.Errorf("%q is no service account: write NAMESPACE/NAME, such as kube-system/karpenter", item)
		}
		accounts = append(accounts, ServiceAccount{Namespace: namespace, Name: name})
	}
	return accounts, nil
}

// Leader is the holder of Karpenter's Lease.
type Leader struct {
	// Namespace is Karpenter's, Identity the name of the pod that holds the Lease.
	Namespace, Identity string
	// Renewed is the time of the last renewal.
	Renewed time.Time
}

// String names the leader and the Lease that shows it.
func (l *Leader) String() string {
	return fmt.Sprintf("%q holds the Lease %s/%s, renewed %s",
		l.Identity, l.Namespace, KarpenterLease, l.Renewed.UTC().Format(time.RFC3339))
}

// Leadership says whether Karpenter acts in the cluster.
type Leadership struct {
	// Leader is nil when no Karpenter acts.
	Leader *Leader
	// Ignored says, for each other Lease of that name that somebody renews, why it does not count.
	Ignored []string
}

// KarpenterLeadership reads who leads the cluster's Karpenter. Anyone who may write Leases in one
// namespace can write one of Karpenter's name. A Lease therefore counts only in the namespace of
// one of the service accounts, while its holder is a pod of that account. An error is that of the
// one list of Leases, or of a list of the accounts' pods.
func (c *Client) KarpenterLeadership(
	ctx context.Context, accounts []ServiceAccount, now time.Time,
) (Leadership, error) {
	var leases coordinationv1.LeaseList
	selector := "metadata.name=" + KarpenterLease
	err := c.list(ctx, "/apis/coordination.k8s.io/v1/leases", &leases, "fieldSelector", selector)
	if err != nil {
		return Leadership{}, fmt.Errorf("looking for a Karpenter that runs: %w", err)
	}
	renewed := slices.DeleteFunc(leases.Items, func(l coordinationv1.Lease) bool { return !isRenewed(&l.Spec, now) })
	var pods []corev1.Pod
	for _, account := range accounts {
		if !slices.ContainsFunc(renewed, func(l coordinationv1.Lease) bool { return l.Namespace == account.Namespace }) {
			continue
		}
		some, err := c.podsOf(ctx, account)
		if err != nil {
			return Leadership{}, fmt.Errorf("looking for a Karpenter that runs: %w", err)
		}
		pods = append(pods, some...)
	}
	return leadership(renewed, pods, accounts), nil
}

// podsOf lists the pods of the service account, without the watch cache: Karpenter's pod may have
// started a moment ago.
func (c *Client) podsOf(ctx context.Context, account ServiceAccount) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := c.list(ctx, "/api/v1/namespaces/"+url.PathEscape(account.Namespace)+"/pods", &list,
		"fieldSelector", "spec.serviceAccountName="+account.Name, versionParameter, "")
	return list.Items, err
}

// isRenewed reports whether somebody has the Lease and its time is not over.
func isRenewed(spec *coordinationv1.LeaseSpec, now time.Time) bool {
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || spec.RenewTime == nil {
		return false // released
	}
	lasts := karpenterLeaseDuration
	if seconds := spec.LeaseDurationSeconds; seconds != nil {
		lasts = min(time.Duration(*seconds)*time.Second, maximumLeaseDuration)
	}
	renewed := spec.RenewTime.Time
	return !renewed.After(now.Add(maximumAhead)) && now.Before(renewed.Add(lasts+clockLeeway))
}

// leadership chooses the Lease whose holder is one of the pods. The pods are those of the accounts.
func leadership(renewed []coordinationv1.Lease, pods []corev1.Pod, accounts []ServiceAccount) Leadership {
	var found Leadership
	for i := range renewed {
		lease := &renewed[i]
		leads := slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return pod.Namespace == lease.Namespace && holds(&pod, *lease.Spec.HolderIdentity)
		})
		if leads && found.Leader == nil {
			found.Leader = &Leader{
				Namespace: lease.Namespace, Identity: *lease.Spec.HolderIdentity, Renewed: lease.Spec.RenewTime.Time,
			}
		}
		if !leads {
			found.Ignored = append(found.Ignored, fmt.Sprintf(
				"the Lease %s/%s does not count: its holder %q is no pod of the service accounts %v",
				lease.Namespace, KarpenterLease, *lease.Spec.HolderIdentity, accounts))
		}
	}
	return found
}

// holds reports whether the identity is the pod's. Karpenter's identity is the hostname of its
// container, an underscore and a random part. The hostname is the pod's name, or that of the node
// for a pod in the node's network.
func holds(pod *corev1.Pod, identity string) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	host := identity
	if end := strings.LastIndex(identity, "_"); end >= 0 {
		host = identity[:end]
	}
	if pod.Spec.HostNetwork {
		short, _, _ := strings.Cut(pod.Spec.NodeName, ".")
		return host != "" && (host == pod.Spec.NodeName || host == short)
	}
	name := cmp.Or(pod.Spec.Hostname, pod.Name)
	return host == strings.TrimRight(name[:min(len(name), hostnameLength)], "-.")
}
