package eks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// accessEntryType is AWS::EKS::AccessEntry.
// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-eks-accessentry.html
type accessEntryType struct{ service *Service }

type accessEntryProperties struct {
	ClusterName      string
	PrincipalArn     string
	Type             string
	Username         string
	KubernetesGroups []string
	AccessPolicies   []struct {
		PolicyArn   string
		AccessScope struct{ Type string }
	}
	Tags []struct{ Key, Value string } // nobody reads them
}

func (p *accessEntryProperties) request() *entryRequest {
	return &entryRequest{
		PrincipalARN: p.PrincipalArn, Type: p.Type, Username: p.Username, KubernetesGroups: p.KubernetesGroups,
	}
}

func (p *accessEntryProperties) physicalID() string { return p.PrincipalArn + "|" + p.ClusterName }

// attach returns the entry the template's policies and no others.
func (p *accessEntryProperties) attach(entry *accessEntry) error {
	before := entry.policies
	entry.policies = nil
	for _, policy := range p.AccessPolicies {
		if err := associate(entry, policy.PolicyArn, policy.AccessScope.Type); err != nil {
			entry.policies = before
			return err
		}
	}
	return nil
}

// Create makes the entry.
func (t *accessEntryType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p := &accessEntryProperties{}
	if err := cloudformation.Decode(r.Properties, p); err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	return t.create(p)
}

func (t *accessEntryType) create(p *accessEntryProperties) (cloudformation.Result, error) {
	c, err := t.service.cluster(p.ClusterName)
	if err != nil {
		return cloudformation.Result{}, err
	}
	entry, err := t.service.addEntry(c, p.request())
	if err != nil {
		return cloudformation.Result{}, fmt.Errorf("access entry of %s in cluster %s: %w", p.PrincipalArn, p.ClusterName, err)
	}
	if err := p.attach(entry); err != nil {
		delete(c.entries, entry.principal)
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: p.physicalID(), Attributes: map[string]any{"AccessEntryArn": entry.arn}}, nil
}

// Update changes groups, user name and policies in place; another cluster or principal is
// another entry.
func (t *accessEntryType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p := &accessEntryProperties{}
	if err := cloudformation.Decode(r.Properties, p); err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	if p.physicalID() != r.PhysicalID {
		return t.create(p)
	}
	_, entry, err := t.service.entry(p.ClusterName, p.PrincipalArn)
	if err != nil {
		return cloudformation.Result{}, err
	}
	if kind := p.Type; kind != "" && kind != entry.kind {
		return cloudformation.Result{},
			invalidParameter("The type of the access entry of %s cannot change from %s to %s: delete it first", p.PrincipalArn,
				entry.kind, kind)
	}
	in := p.request()
	if err := in.check(entry.kind); err != nil {
		return cloudformation.Result{}, err
	}
	if err := p.attach(entry); err != nil {
		return cloudformation.Result{}, err
	}
	if entry.kind == typeStandard {
		entry.groups = in.KubernetesGroups
		entry.username = in.Username
		if entry.username == "" {
			entry.username = defaultUsername(entry.principal, entry.kind)
		}
	}
	entry.modified = time.Now()
	return cloudformation.Result{PhysicalID: r.PhysicalID, Attributes: map[string]any{"AccessEntryArn": entry.arn}}, nil
}

// Delete removes the entry.
func (t *accessEntryType) Delete(_ context.Context, r cloudformation.Request) error {
	principal, clusterName, _ := strings.Cut(r.PhysicalID, "|")
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	if c := t.service.clusters[clusterName]; c != nil {
		c.remove(principal)
	}
	return nil
}
