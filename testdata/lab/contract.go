package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/testdata/lab/contract"
	"github.com/whittle-dev/whittle/testdata/lab/unkind"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

// contractPage is the file of what was observed.
const contractPage = "build/contract.md"

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
	where := "the local AWS in the unkind mode"
	if os.Getenv("live") != "" {
		where = "an account in " + loaded.Region
	}
	page := contract.Page(where, time.Now(), seen)
	fmt.Printf("\n%s\nThe same is in %s.\n", page, contractPage)
	return errors.Join(failure, os.WriteFile(contractPage, []byte(page), 0o600))
}
