package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/kubelet/evaluation"
)

// evaluateExpressions evaluates the kubelet expressions of all classes for every instance type, and
// stores the values. Provision and disrupt look them up, so that they need no interpreter. Classes
// wait while there is no catalogue. A class that cannot be evaluated now keeps its last values.
func (s *seen) evaluateExpressions(ctx context.Context, client kubernetes, classes []api.EC2NodeClass) {
	var concerned []*api.EC2NodeClass
	for i := range classes {
		if kubelet.HasExpressions(&classes[i]) {
			concerned = append(concerned, &classes[i])
		}
	}
	if len(concerned) == 0 {
		return
	}
	facts, err := inventory.Catalog(ctx, client)
	if errors.Is(err, inventory.ErrNoCatalog) || err == nil && len(facts.InstanceTypes) == 0 {
		return
	}
	if err != nil {
		s.failed = errors.Join(s.failed, err)
		return
	}
	known, err := inventory.KubeletValues(ctx, client)
	if err != nil {
		s.failed = errors.Join(s.failed, err)
		return
	}
	made := kubelet.Evaluations{}
	for _, class := range concerned {
		s.evaluate(class, facts, known, made)
	}
	s.failed = errors.Join(s.failed, inventory.PutKubeletValues(ctx, client, made))
}

// evaluate adds the evaluation of the class to those made, or the known one where that fails.
func (s *seen) evaluate(class *api.EC2NodeClass, facts *catalog.Snapshot, known, made kubelet.Evaluations) {
	inputs := ""
	err := guard.Run(func() (err error) {
		class.Default()
		if inputs, err = kubelet.Inputs(class); err != nil {
			return err
		}
		evaluated, err := evaluation.Of(class, facts)
		if err == nil {
			made[inputs] = evaluated
		}
		return err
	})
	if err == nil {
		return
	}
	if last, found := known[inputs]; found {
		made[inputs] = last
	}
	err = fmt.Errorf("ec2nodeclass %q: %w", class.Name, err)
	if guard.IsPanic(err) {
		s.events = append(s.events, defect(aboutClass(class), err))
	}
	s.failed = errors.Join(s.failed, err)
}
