package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/functions/console/account"
	"github.com/whittle-dev/whittle/functions/console/check"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// errNotReady says that something stands in the way of a deployment. The findings name it.
var errNotReady = errors.New("the deployment would fail, or Whittle would not work: see the problems")

// checkAccount checks an account and a cluster before the first deployment.
func checkAccount(ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer) error {
	flags := flag.NewFlagSet("whittle check", flag.ContinueOnError)
	var options check.Options
	flags.StringVar(&options.ClusterName, "cluster", "", "`name` of the EKS cluster")
	region := flags.String("region", "", "`name` of the region (default: the environment's)")
	flags.StringVar(&options.NodeRole, "node-role", "", "the deployment's setting nodeRole: `ARN` of an existing role")
	options.AuthenticationMode = "API"
	flags.Var(oneOf(&options.AuthenticationMode, "API", "CONFIG_MAP"), "authentication-mode",
		"the deployment's setting authenticationMode: `mode` API or CONFIG_MAP (default API)")
	flags.BoolVar(&options.AllowAutoMode, "allow-auto-mode", false, "the deployment's setting allowAutoMode")
	flags.StringVar(&options.EventBus, "event-bus", "", "the deployment's setting eventBus: `name` of the bus")
	flags.BoolVar(&options.ZonalShift, "zonal-shift", false, "the deployment's setting zonalShift")
	subnets := flags.String("subnets", "", "the deployment's setting subnets: `list` of the functions' subnets")
	var way access
	way.addFlags(flags)
	flags.Lookup("kubeconfig").Usage = "read the cluster by this kubeconfig `file` instead of AWS credentials"
	flags.Lookup("context").Usage = "read the cluster by the kubeconfig's context of this `name`"
	var output form
	outputFlag(flags, &output, formTable, formJSON, formYAML)
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return usageProblem(problems, "whittle check: takes no arguments: got %q", flags.Args())
	case options.ClusterName == "":
		return usageProblem(problems, "whittle check: name the cluster: -cluster NAME")
	}
	if *subnets != "" {
		options.FunctionSubnets = strings.Split(*subnets, ",")
	}
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(*region))
	if err != nil {
		return fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return errors.New("no region: pass -region, or set AWS_REGION")
	}
	reader := account.NewReader(loaded, now)
	if way.kubeconfig != "" || way.kubecontext != "" {
		reader.Connect = func(context.Context, string) (*cluster.Client, error) { return way.connect() }
	}
	findings := check.Findings(reader.Read(ctx, options))
	if err := writeFindings(out, findings, &output); err != nil {
		return err
	}
	if check.Worst(findings) == check.Problem {
		return errNotReady
	}
	return nil
}

func writeFindings(out io.Writer, findings []check.Finding, output *form) error {
	if output.isForPrograms() {
		return output.write(out, map[string]any{"findings": findings, "worst": check.Worst(findings)}, "findings")
	}
	return check.Write(out, findings, styleOf(out).Width)
}
