package classes

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// verifyEvery is how often, in minutes of the hour, Resolve reads an instance profile that was
// verified before. IAM allows few calls.
const verifyEvery = 30

// Resolver resolves the EC2NodeClasses of one cluster.
type Resolver struct {
	config  aws.Config
	cluster string

	// DryRun makes Resolve ask EC2 whether a launch is authorized: once for each spec of a class, and
	// again while EC2 refuses. Only a function that may launch can ask.
	DryRun bool

	// Expressions allows expressions in kubelet settings. Resolve reads the values that lifecycle has
	// stored.
	Expressions bool
}

// NewResolver returns a resolver for the cluster. It sends nothing.
func NewResolver(config aws.Config, cluster string) *Resolver {
	return &Resolver{config: config, cluster: cluster}
}

// Stale reports whether the class must be resolved again before a launch.
func (r *Resolver) Stale(class *api.EC2NodeClass) bool {
	return nodeclass.Stale(class) ||
		r.DryRun && class.DeletionTimestamp == nil && nodeclass.NeedsAuthorization(class.Status)
}

// Resolve reads what the class selects, writes its status when it has changed, and returns the
// class with it. It writes to the inventory what the capacity reservations have left. It succeeds
// when the class was changed or deleted meanwhile, because the status is right for this pass. Any
// other error, of EC2, SSM, IAM or the API server, may be throttling: the next pass repeats the
// call.
func (r *Resolver) Resolve(
	ctx context.Context, client *cluster.Client, class api.EC2NodeClass, now time.Time,
) (api.EC2NodeClass, error) {
	discoverer := fleet.Discoverer{
		EC2: ec2.NewFromConfig(r.config),
		SSM: ssm.NewFromConfig(r.config),
		Profiles: fleet.Profiles{
			IAM: fleet.NewIAM(r.config), Cluster: r.cluster, Region: r.config.Region,
			Verify: now.Minute()%verifyEvery == 0,
		},
		Kubernetes: client.Endpoint.Version, Now: now,
		Cluster: nodeclass.Cluster{
			Name: client.Endpoint.Name, Endpoint: client.Endpoint.URL,
			CertificateAuthority: client.Endpoint.CertificateAuthority, ServiceCIDR: client.Endpoint.ServiceCIDR,
		},
	}
	facts, err := discoverer.Discover(ctx, &class)
	if err != nil {
		return class, fmt.Errorf("resolving ec2nodeclass %q: %w", class.Name, err)
	}
	if facts.Expressions, err = r.expressions(ctx, client, &class); err != nil {
		return class, fmt.Errorf("resolving ec2nodeclass %q: %w", class.Name, err)
	}
	left := map[string]int{}
	for _, reservation := range facts.CapacityReservations {
		left[reservation.ID] = reservation.AvailableInstances
	}
	if err := inventory.PutReservations(ctx, client, left, now); err != nil {
		return class, fmt.Errorf("resolving ec2nodeclass %q: %w", class.Name, err)
	}
	status := nodeclass.Resolve(&class, facts, now)
	if r.DryRun && class.DeletionTimestamp == nil && nodeclass.NeedsAuthorization(status) {
		if facts.Authorization, err = r.authorize(ctx, client, class, status, discoverer); err != nil {
			return class, fmt.Errorf("resolving ec2nodeclass %q: %w", class.Name, err)
		}
		status = nodeclass.Resolve(&class, facts, now)
	}
	if equality.Semantic.DeepEqual(status, class.Status) {
		return class, nil
	}
	// The patch holds the whole status, so that what is no longer selected goes.
	stored, err := client.PatchNodeClassStatus(ctx, class.Name, map[string]any{
		"metadata": map[string]any{"resourceVersion": class.ResourceVersion},
		"status": map[string]any{
			"subnets": status.Subnets, "securityGroups": status.SecurityGroups, "amis": status.AMIs,
			"instanceProfile": status.InstanceProfile, "capacityReservations": status.CapacityReservations,
			"placementGroup": status.PlacementGroup, "conditions": status.Conditions,
		},
	})
	// Another invocation has just written it. This status is right for this pass all the same.
	if cluster.IgnoreStale(err) != nil {
		return class, err
	}
	if err == nil {
		class.ResourceVersion = stored.ResourceVersion
	}
	class.Status = status
	return class, nil
}

// authorize asks EC2 whether it would launch what the class's pools allow.
func (r *Resolver) authorize(
	ctx context.Context, client *cluster.Client, class api.EC2NodeClass, status api.EC2NodeClassStatus,
	discoverer fleet.Discoverer,
) (nodeclass.Authorization, error) {
	class.Status = status
	asked, err := trials(ctx, client, &class, discoverer.Now)
	if err != nil {
		return nodeclass.Authorization{}, err
	}
	return fleet.New(discoverer.EC2, r.cluster).Authorize(ctx, &class, discoverer.Cluster, asked)
}

// statuses reads and writes EC2NodeClasses: cluster.Client, and wrappers of it.
type statuses interface {
	NodeClasses(ctx context.Context) ([]api.EC2NodeClass, error)
	PatchNodeClassStatus(ctx context.Context, name string, patch map[string]any) (*api.EC2NodeClass, error)
}

// ChangeConditions writes the conditions that decide returns, unless they are unchanged. It reads
// the class again, because the caller may have written it since. It returns the class that it wrote,
// and nil if there was nothing to write or another writer came first, who has seen the same facts.
func ChangeConditions(
	ctx context.Context, client statuses, name string, decide func(*api.EC2NodeClass) ([]metav1.Condition, bool, error),
) (*api.EC2NodeClass, error) {
	classes, err := client.NodeClasses(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(classes, func(class api.EC2NodeClass) bool { return class.Name == name })
	if at < 0 {
		return nil, nil
	}
	conditions, changed, err := decide(&classes[at])
	if err != nil || !changed {
		return nil, err
	}
	stored, err := client.PatchNodeClassStatus(ctx, name, map[string]any{
		"metadata": map[string]any{"resourceVersion": classes[at].ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return nil, cluster.IgnoreStale(err)
	}
	return stored, nil
}

// expressions returns what is known of the class's kubelet expressions.
func (r *Resolver) expressions(
	ctx context.Context, client *cluster.Client, class *api.EC2NodeClass,
) (nodeclass.Expressions, error) {
	known := nodeclass.Expressions{Enabled: r.Expressions}
	if !r.Expressions || !kubelet.HasExpressions(class) {
		return known, nil
	}
	values, err := inventory.KubeletValues(ctx, client)
	if err != nil {
		return known, err
	}
	if evaluation, found := values.Of(class); found {
		known.Evaluation = &evaluation
	}
	return known, nil
}
