package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/kubelet/evaluation"
)

// evaluateExpressions evaluates the kubelet expressions of all classes for every instance type, and
// stores the values. Provision and disrupt look them up, so that they need no interpreter. Classes
// wait while there is no catalogue. A class that cannot be evaluated now keeps its last values.
// The events are about classes that the evaluation panics on.
func evaluateExpressions(
	ctx context.Context, client kubernetes, classes []api.EC2NodeClass,
) ([]cluster.Event, error) {
	var concerned []*api.EC2NodeClass
	for i := range classes {
		if kubelet.HasExpressions(&classes[i]) {
			concerned = append(concerned, &classes[i])
		}
	}
	if len(concerned) == 0 {
		return nil, nil
	}
	facts, err := inventory.Catalog(ctx, client)
	if errors.Is(err, inventory.ErrNoCatalog) || err == nil && len(facts.InstanceTypes) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	known, err := inventory.KubeletValues(ctx, client)
	if err != nil {
		return nil, err
	}
	made := kubelet.Evaluations{}
	var defects []cluster.Event
	var failed []error
	for _, class := range concerned {
		evaluated, err := evaluate(class, facts, known)
		if guard.IsPanic(err) {
			defects = append(defects, defect(disruption.AboutClass(class), err))
		}
		maps.Copy(made, evaluated)
		failed = append(failed, err)
	}
	return defects, errors.Join(append(failed, inventory.PutKubeletValues(ctx, client, made))...)
}

// evaluate returns the evaluation of the class, by its inputs. With an error it is the known one, if
// there is one.
func evaluate(
	class *api.EC2NodeClass, facts *catalog.Catalog, known kubelet.Evaluations,
) (kubelet.Evaluations, error) {
	inputs, made := "", kubelet.Evaluations{}
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
		return made, nil
	}
	if last, found := known[inputs]; found {
		made[inputs] = last
	}
	return made, fmt.Errorf("ec2nodeclass %q: %w", class.Name, err)
}
