package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/testdata/lab/contract"
	"github.com/whittle-dev/whittle/testdata/lab/unkind"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// observeContract observes the facts that Whittle rests on. Locally, what fails shows what the
// unkind mode does. Only something that was left behind is an error. The variable live asks for the
// account of the environment's credentials, and cluster names its cluster whose access entries are
// observed.
func observeContract(ctx context.Context) (failure error) {
	name := os.Getenv("cluster")
	if os.Getenv("live") == "" {
		w, err := startWith(ctx, "contract", defaultInterval, boot, changing(func(o *world.Options) {
			o.Bare, o.Unkind = true, &unkind.Mode{Seed: 1, Boot: boot}
		}))
		if err != nil {
			return err
		}
		defer func() { failure = errors.Join(failure, w.Close()) }()
		for _, setting := range w.Environment() {
			key, value, _ := strings.Cut(setting, "=")
			if err := os.Setenv(key, value); err != nil {
				return err
			}
		}
		name = clusterName
	}
	loaded, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return err
	}
	account, err := contract.NewAccount(loaded, name)
	if err != nil {
		return err
	}
	if err := contract.Announce(os.Stdout); err != nil {
		return err
	}
	seen, failure := contract.Run(ctx, account, os.Stdout)
	fmt.Println()
	return errors.Join(failure, contract.Write(os.Stdout, seen))
}
