package scale

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

const (
	// parallel is the number of objects that are written at a time.
	parallel = 16
	// tries is how often a status is written.
	tries = 3
)

// Fleet copies the nodes of a cluster.
type Fleet struct {
	ec2     *ec2.Service
	cluster *cluster.Client
	core    kubernetes.Interface
}

// NewFleet returns the fleet of a cluster and its account.
func NewFleet(account *ec2.Service, reader *cluster.Client, config *rest.Config) (*Fleet, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit
	core, err := kubernetes.NewForConfig(config)
	return &Fleet{ec2: account, cluster: reader, core: core}, err
}

// seed is a node with its claim and its instance.
type seed struct {
	node     corev1.Node
	claim    api.NodeClaim
	instance ec2.Instance
}

// Grow copies the cluster's nodes in turn, with claims and instances, until it has count copies, and
// returns the copies' names and instances. The copies report images, and their machines never boot.
func (f *Fleet) Grow(ctx context.Context, count int) (names, instances []string, err error) {
	seeds, err := f.seeds(ctx)
	if err != nil {
		return nil, nil, err
	}
	tags := make([][]map[string]string, len(seeds))
	for n := range count {
		of := n % len(seeds)
		tags[of] = append(tags[of], retagged(seeds[of], claimName(n)))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	names, instances = make([]string, count), make([]string, count)
	for of, seed := range seeds {
		made, err := f.ec2.Replicate(seed.instance.ID, tags[of])
		if err != nil {
			return nil, nil, err
		}
		for i, instance := range made {
			n := i*len(seeds) + of
			names[n], instances[n] = instance.PrivateDNSName, instance.ID
			group.Go(func() error { return f.write(ctx, seed, instance, claimName(n)) })
		}
	}
	return names, instances, group.Wait()
}

func claimName(n int) string { return fmt.Sprintf("scale-%05d", n) }

// retagged are the tags that name the seed's claim, with another name.
func retagged(s seed, claim string) map[string]string {
	changed := map[string]string{}
	for key, value := range s.instance.Tags {
		if value == s.claim.Name {
			changed[key] = claim
		}
	}
	return changed
}

// seeds joins the cluster's nodes with claims and instances.
func (f *Fleet) seeds(ctx context.Context) ([]seed, error) {
	nodes, err := f.cluster.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	claims, err := f.cluster.NodeClaims(ctx)
	if err != nil {
		return nil, err
	}
	var seeds []seed
	for _, instance := range f.ec2.Instances() {
		s := seed{instance: instance}
		for i := range nodes {
			if nodes[i].Spec.ProviderID == instance.ProviderID() {
				s.node = nodes[i]
			}
		}
		for i := range claims {
			if claims[i].Status.ProviderID == instance.ProviderID() {
				s.claim = claims[i]
			}
		}
		if s.node.Name == "" || s.claim.Name == "" {
			return nil, fmt.Errorf("instance %s has no node or no claim", instance.ID)
		}
		seeds = append(seeds, s)
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("the cluster has no node to copy")
	}
	return seeds, nil
}

// write stores the copy's claim and node.
func (f *Fleet) write(ctx context.Context, from seed, instance ec2.Instance, name string) error {
	renamed := strings.NewReplacer(from.instance.ID, instance.ID, from.node.Name, instance.PrivateDNSName,
		`"`+from.instance.PrivateIPAddress+`"`, `"`+instance.PrivateIPAddress+`"`, from.claim.Name, name)
	var claim api.NodeClaim
	if err := copied(&from.claim, renamed, &claim); err != nil {
		return err
	}
	claim.ObjectMeta = copiedMeta(claim.ObjectMeta)
	stored, err := f.cluster.CreateNodeClaim(ctx, &claim)
	if err != nil {
		return err
	}
	status := map[string]any{"status": claim.Status}
	for try := 1; ; try++ { // a busy machine answers late
		if _, err = f.cluster.PatchNodeClaimStatus(ctx, name, status); err == nil {
			break
		} else if try == tries {
			return err
		}
	}
	var node corev1.Node
	if err := copied(&from.node, renamed, &node); err != nil {
		return err
	}
	node.ObjectMeta = copiedMeta(node.ObjectMeta)
	for i := range node.OwnerReferences {
		node.OwnerReferences[i].UID = stored.UID
	}
	node.Status.Images = Images()
	_, err = f.core.CoreV1().Nodes().Create(ctx, &node, metav1.CreateOptions{FieldManager: "kubelet"})
	return err
}

// copied copies an object with other names.
func copied(from any, renamed *strings.Replacer, to any) error {
	encoded, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(renamed.Replace(string(encoded))), to)
}

// copiedMeta drops what the API server sets.
func copiedMeta(of metav1.ObjectMeta) metav1.ObjectMeta {
	of.UID, of.ResourceVersion, of.Generation, of.ManagedFields = "", "", 0, nil
	of.CreationTimestamp = metav1.Time{}
	return of
}
