package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

const (
	// defaultBursts is the number of bursts of fidelity, and slowBoot the longest boot of its machines.
	defaultBursts = 200
	slowBoot      = 60 * time.Second
	// defaultGangs is the number of gangs.
	defaultGangs = 1000
	// gangsBoot is that of EC2's fastest machines. A pass that looks for another place for the rest
	// of a gang must be over before: the scheduler knows of no gangs.
	gangsBoot = 20 * time.Second
)

// firstBurst is the seed of the first burst. FIDELITY_SEED sets it, so that several versions of Kubernetes share the
// bursts.
func firstBurst() (uint64, error) {
	value := os.Getenv("FIDELITY_SEED")
	if value == "" {
		return 1, nil
	}
	seed, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("FIDELITY_SEED=%s: want the number of a burst, such as 51", value)
	}
	return seed, nil
}

// forbidNominations takes the right to write pods' statuses from lifecycle, which does without, for a
// run to compare with. FIDELITY_NOMINATIONS=off asks for it.
func forbidNominations(ctx context.Context, client *scenario.Client) error {
	if os.Getenv("FIDELITY_NOMINATIONS") != "off" {
		return nil
	}
	fmt.Println("lifecycle may not write nominations in this run")
	roles := client.Core.RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, "whittle:lifecycle", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range role.Rules {
		rule := &role.Rules[i]
		rule.Resources = slices.DeleteFunc(rule.Resources, func(name string) bool { return name == "pods/status" })
		if len(rule.Resources) == 0 {
			role.Rules = slices.Delete(role.Rules, i, i+1)
			_, err := roles.Update(ctx, role, metav1.UpdateOptions{})
			return err
		}
	}
	return errors.New("ClusterRole whittle:lifecycle has no rule for pods/status")
}
