package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/functions/console/administrator"
)

const administratorUsage = "whittle administrator: write on or off, as in: whittle administrator off -cluster prod"

// changeAdministrator gives install its right before a deployment, or takes it away afterwards.
func changeAdministrator(ctx context.Context, arguments []string, out, problems io.Writer) error {
	wanted := ""
	if len(arguments) > 0 && (arguments[0] == "on" || arguments[0] == "off") {
		wanted, arguments = arguments[0], arguments[1:]
	}
	var cluster, region string
	flags := flag.NewFlagSet("whittle administrator", flag.ContinueOnError)
	flags.StringVar(&cluster, "cluster", "", "`name` of the EKS cluster")
	flags.StringVar(&region, "region", "", "`name` of the region (default: the environment's)")
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if flags.NArg() > 0 || cluster == "" || wanted == "" {
		return usageProblem(problems, administratorUsage)
	}
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(region))
	if err != nil {
		return fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return errors.New("no region: pass -region, or set AWS_REGION")
	}
	rights := administrator.New(loaded, cluster)
	if wanted == "on" {
		role, err := rights.Grant(ctx)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s is administrator of the cluster %s until `whittle administrator off`\n", role, cluster)
		}
		return err
	}
	role, err := rights.Revoke(ctx)
	if err == nil {
		_, err = fmt.Fprintf(out, "%s has no right in the cluster %s until `whittle administrator on`\n", role, cluster)
	}
	return err
}
