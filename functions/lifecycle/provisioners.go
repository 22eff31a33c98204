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

// listProvisioners reads the kinds before NodePool. Without a Provisioner it costs one list.
func (s *seen) listProvisioners(ctx context.Context, client kubernetes) {
	var err error
	if s.provisioners, err = client.Provisioners(ctx); err != nil || len(s.provisioners) == 0 {
		s.failed = errors.Join(s.failed, err)
		return
	}
	if s.templates, err = client.AWSNodeTemplates(ctx); err != nil {
		s.failed = errors.Join(s.failed, err)
		s.provisioners = nil // without the templates each would seem to name one that is not there
	}
}

// keepProvisioners keeps a pool and a class for each Provisioner. It waits for a complete list of
// pools and classes, because one that is not listed would be made again.
func (p *pass) keepProvisioners(ctx context.Context) {
	s := p.seen
	if len(s.provisioners) == 0 || !s.classesListed {
		return
	}
	known := provisioner.Seen{
		Provisioners: s.provisioners, Templates: s.templates, Pools: s.pools, Classes: s.classes, Claims: s.claims,
		Settings: legacy.Settings{ClusterName: s.cluster, KubernetesVersion: p.client.KubernetesVersion()},
	}
	for i := range s.provisioners {
		p.fail(p.keepProvisioner(ctx, &s.provisioners[i], known))
	}
	for i := range s.templates {
		p.fail(p.writeTemplateStatus(ctx, &s.templates[i], known))
	}
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
	case cluster.IsConflict(err) || cluster.IsGone(err) || apierrors.IsAlreadyExists(err):
		return nil // the next tick reads it as it is
	case err != nil:
		return fmt.Errorf("provisioner %q: %w", old.Name, err)
	}
	p.events.Add(outcome.Events...)
	if outcome.Status == nil {
		return nil
	}
	return unlessChanged(p.client.PatchProvisionerStatus(ctx, old.Name, outcome.Status))
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
	return unlessChanged(p.client.PatchAWSNodeTemplateStatus(ctx, template.Name, outcome.Status))
}

// unlessChanged drops the errors of an object that has changed or gone since it was read.
func unlessChanged(err error) error {
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil
	}
	return err
}
