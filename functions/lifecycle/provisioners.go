package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/lifecycle/provisioner"
	"github.com/whittle-dev/whittle/shared/api/legacy"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/guard"
)

// listPredecessors reads the kinds before NodePool. Without a Provisioner it costs one list.
func listPredecessors(ctx context.Context, client kubernetes) (predecessors, error) {
	provisioners, err := client.Provisioners(ctx)
	if err != nil || len(provisioners) == 0 {
		return predecessors{}, err
	}
	templates, err := client.AWSNodeTemplates(ctx)
	if err != nil {
		return predecessors{}, err // without the templates each Provisioner would seem to name one that is not there
	}
	return predecessors{provisioners, templates}, nil
}

// keepProvisioners keeps a pool and a class for each Provisioner. It waits for a complete list of
// pools and classes, because one that is not listed would be made again.
func (p *pass) keepProvisioners(ctx context.Context) result {
	s := p.seen
	if len(s.predecessors.provisioners) == 0 || !s.owners.complete {
		return result{}
	}
	settings := p.old
	settings.KubernetesVersion = p.client.KubernetesVersion()
	known := provisioner.Seen{
		Provisioners: s.predecessors.provisioners, Templates: s.predecessors.templates,
		Pools: s.owners.pools, Classes: s.owners.classes, Claims: s.claims,
		Settings: settings,
	}
	var failed []error
	for i := range known.Provisioners {
		failed = append(failed, p.keepProvisioner(ctx, &known.Provisioners[i], known))
	}
	for i := range known.Templates {
		failed = append(failed, p.writeTemplateStatus(ctx, &known.Templates[i], known))
	}
	return result{failed: errors.Join(failed...)}
}

// keepProvisioner writes what one Provisioner needs. A refusal of the API server becomes its
// condition.
func (p *pass) keepProvisioner(ctx context.Context, old *legacy.Provisioner, known provisioner.Seen) error {
	var outcome provisioner.Outcome
	err := guard.Run(func() error {
		outcome = provisioner.Next(old, known, p.now())
		return nil
	})
	if err != nil {
		p.events.Add(defect(provisioner.ReferenceTo(old), err))
		return fmt.Errorf("provisioner %q: %w", old.Name, err)
	}
	if outcome.Class != nil {
		err = p.client.WriteNodeClass(ctx, outcome.Class)
	}
	if err == nil && outcome.Pool != nil {
		err = p.client.WriteNodePool(ctx, outcome.Pool)
	}
	switch {
	case apierrors.IsInvalid(err):
		slog.WarnContext(ctx, "the API server refuses what a Provisioner became", "Provisioner", old.Name, "error", err)
		outcome = provisioner.Refused(old, err, p.now())
	case cluster.IsStale(err):
		return nil // the next tick reads it as it is
	case err != nil:
		return fmt.Errorf("provisioner %q: %w", old.Name, err)
	}
	p.events.Add(outcome.Events...)
	if outcome.Status == nil {
		return nil
	}
	return cluster.IgnoreStale(p.client.PatchProvisionerStatus(ctx, old.Name, outcome.Status))
}

// writeTemplateStatus writes the status of one template.
func (p *pass) writeTemplateStatus(
	ctx context.Context, template *legacy.AWSNodeTemplate, known provisioner.Seen,
) error {
	var outcome provisioner.Outcome
	err := guard.Run(func() error {
		outcome = provisioner.OfTemplate(template, known, p.now())
		return nil
	})
	if err != nil {
		return fmt.Errorf("awsnodetemplate %q: %w", template.Name, err)
	}
	p.events.Add(outcome.Events...)
	if outcome.Status == nil {
		return nil
	}
	return cluster.IgnoreStale(p.client.PatchAWSNodeTemplateStatus(ctx, template.Name, outcome.Status))
}
