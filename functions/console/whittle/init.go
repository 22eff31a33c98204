package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/functions/console/account"
	"github.com/whittle-dev/whittle/infra/cfntemplate"
)

// startCluster prints a first NodePool and EC2NodeClass for a cluster.
func startCluster(ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle init", flag.ContinueOnError)
	name := flags.String("cluster", "", "`name` of the EKS cluster")
	region := flags.String("region", "", "`name` of the region (default: the environment's)")
	role := flags.String("node-role", "", "`name` of the nodes' role (default: that of the cluster's stack)")
	pool := flags.String("name", "default", "`name` of the NodePool and its class")
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	switch err := cfntemplate.CheckCluster(*name); {
	case flags.NArg() > 0:
		return usageProblem(problems, "whittle init: takes no arguments: got %q", flags.Args())
	case *name == "":
		return usageProblem(problems, "whittle init: name the cluster: -cluster NAME")
	case err != nil:
		return usageProblem(problems, "whittle init: -cluster: %v", err)
	}
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(*region))
	if err != nil {
		return fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return errors.New("no region: pass -region, or set AWS_REGION")
	}
	facts, err := account.NewReader(loaded, now).Starter(ctx, *name, cfntemplate.NamesOf(*name).Stack, *role)
	if err != nil {
		return err
	}
	facts.Pool = *pool
	if err := facts.Check(); err != nil {
		return err
	}
	_, err = io.WriteString(out, facts.Manifest())
	return err
}
