package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/fidelity"
	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
)

// Environment variables of the command.
const (
	fidelityBursts = "FIDELITY_BURSTS"
	// fidelityNominations is "off" for a run without nominations, to compare.
	fidelityNominations = "FIDELITY_NOMINATIONS"
)

// The command's number of bursts, and the longest boot of its machines.
const (
	defaultBursts = 200
	slowBoot      = 10 * time.Second
)

// measureFidelity lets bursts of pods run, and prints how many of them ran where the plan had them.
func measureFidelity(ctx context.Context) (failure error) {
	bursts, err := numberAsked(fidelityBursts, defaultBursts)
	if err != nil {
		return err
	}
	w, err := startWith(ctx, "fidelity", interval, boot, func(o *world.Options) { o.BootMost = slowBoot })
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, w.Close()) }()
	setup, err := w.Scenario(io.Discard)
	if err != nil {
		return err
	}
	if os.Getenv(fidelityNominations) == "off" {
		fmt.Println("lifecycle may not write nominations in this run")
		if err := forbidNominations(ctx, setup.Client); err != nil {
			return err
		}
	}
	began := time.Now()
	result, err := fidelity.Run(ctx, setup, bursts, 1, os.Stdout)
	if err != nil {
		return fmt.Errorf("%w\nthe logs are in %s", err, w.Directory())
	}
	fmt.Println()
	if err := result.Write(os.Stdout); err != nil {
		return err
	}
	if err := busy(w, began); err != nil {
		return err
	}
	fmt.Printf("The bursts took %.0f s.\n", time.Since(began).Seconds())
	return nil
}

// forbidNominations takes the right to write pods' statuses from lifecycle, which does without.
func forbidNominations(ctx context.Context, client *scenario.Client) error {
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
