package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
)

// stack is the name of the cluster's stack in the CDK app.
func (w *World) stack() string { return "Whittle-" + w.options.Cluster }

// Architecture is Lambda's name for this machine's processor, on which the functions run directly.
func Architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// Deploy runs the cdk command line against the local AWS, as a user does against the real one.
// settings are further context values, such as interval=15s.
func (w *World) Deploy(ctx context.Context, settings ...string) error {
	return w.cdk(ctx, []string{"deploy", w.stack(), "--method=direct", "--require-approval", "never"}, settings)
}

// Destroy removes the stack by the cdk command line. CloudFormation refuses it for a stack that is protected.
func (w *World) Destroy(ctx context.Context) error {
	return w.cdk(ctx, []string{"destroy", w.stack(), "--force"}, nil)
}

// Remove takes the protection away and removes the stack, as a user does.
func (w *World) Remove(ctx context.Context) error {
	operator := w.identity.Operator()
	config := aws.Config{
		Region: Region, BaseEndpoint: aws.String(w.server.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	}
	_, err := cloudformation.NewFromConfig(config).UpdateTerminationProtection(ctx,
		&cloudformation.UpdateTerminationProtectionInput{
			StackName: aws.String(w.stack()), EnableTerminationProtection: aws.Bool(false),
		})
	if err != nil {
		return err
	}
	return w.Destroy(ctx)
}

// cdk builds the app and runs the command line.
func (w *World) cdk(ctx context.Context, arguments, settings []string) error {
	cli := filepath.Join(w.options.Root, "infra", "node_modules", ".bin", "cdk")
	if _, err := os.Stat(cli); err != nil {
		return fmt.Errorf("the cdk command line is not installed (%w): run `make infra/node_modules`", err)
	}
	// All worlds share the program, so that only the first one links it.
	app := filepath.Join(w.options.Root, "build", "app")
	build := []string{"build", "-trimpath", "-buildvcs=false", "-o", app, "./infra/app"}
	if err := w.command(ctx, io.Discard, "go", build...); err != nil {
		return fmt.Errorf("building the CDK app: %w", err)
	}
	log, err := os.Create(filepath.Join(w.options.Directory, "cdk.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	arguments = append(arguments, "--app", app, "--output", filepath.Join(w.options.Directory, "cdk.out"),
		"--no-notices", "--no-version-reporting", "--no-path-metadata", "--no-asset-metadata", "--ci",
		"-c", "clusters="+w.options.Cluster, "-c", "architecture="+Architecture())
	if w.options.Functions != "" {
		arguments = append(arguments, "-c", "functions="+w.options.Functions)
	}
	if !slices.ContainsFunc(settings, func(setting string) bool { return strings.HasPrefix(setting, "interval=") }) {
		settings = append([]string{"interval=" + w.options.Interval.String()}, settings...)
	}
	for _, setting := range settings {
		arguments = append(arguments, "-c", setting)
	}
	err = w.command(ctx, log, cli, arguments...)
	if err != nil {
		return errors.Join(fmt.Errorf("cdk %s: %w: see %s", arguments[0], err, log.Name()), tail(log.Name()))
	}
	return nil
}

// command runs a program in the project's root with the local AWS's endpoint and the operator's
// credentials. It passes on no setting that leads to another AWS.
func (w *World) command(ctx context.Context, out io.Writer, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = w.options.Root
	command.Stdout, command.Stderr = out, out
	command.Env = append(append(withoutAWS(os.Environ()), "CGO_ENABLED=0"), w.Environment()...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	return command.Run()
}
