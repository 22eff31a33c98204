package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/whittle-dev/whittle/functions/console/administrator"
	"github.com/whittle-dev/whittle/functions/console/deploy"
	"github.com/whittle-dev/whittle/infra/cfntemplate"
	"github.com/whittle-dev/whittle/infra/signature"
	"github.com/whittle-dev/whittle/shared/version"
)

// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
var (
	bucketForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$`)
)

// installOptions are the flags of install.
type installOptions struct {
	cluster, release, releaseKey, bucket, prefix, region string
	// administrator is how long install's role has its right: always, or for the deployment.
	administrator string
	set           map[string]string
	print         bool
}

// installation is a release that is ready to be deployed for a cluster.
type installation struct {
	options installOptions
	// folder is where the zips are in the bucket. local is where they are on this machine.
	folder, local string
	bundle        *cfntemplate.Bundle
	stack         string
	template      []byte
	protected     bool
}

// install deploys a release for a cluster, or prints its template.
func install(ctx context.Context, arguments []string, now func() time.Time, out, problems io.Writer) error {
	options := installOptions{set: map[string]string{}, administrator: "always"}
	flags := flag.NewFlagSet("whittle install", flag.ContinueOnError)
	flags.StringVar(&options.cluster, "cluster", "", "`name` of the EKS cluster")
	flags.StringVar(&options.release, "release", "", "`folder` of the release")
	flags.StringVar(&options.releaseKey, "release-key", "", "public `key` of minisign that has to have signed the release")
	flags.StringVar(&options.bucket, "bucket", "", "`name` of your bucket in the cluster's region, for the functions")
	flags.StringVar(&options.prefix, "prefix", "whittle", "`beginning` of the keys in the bucket")
	flags.StringVar(&options.region, "region", "", "`name` of the region (default: the environment's)")
	flags.Var(oneOf(&options.administrator, "always", "deployment"), "administrator",
		"how long install's role is `administrator` of the cluster: always, or deployment")
	flags.BoolVar(&options.print, "print", false, "print the template and the commands that deploy it, and change nothing")
	flags.Func("set", "a setting, as `key=value`; may be repeated", func(text string) error {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("%q has no =: write it as in -set interval=5s", text)
		}
		options.set[key] = value
		return nil
	})
	if err := parse(flags, arguments, problems); err != nil {
		return err
	}
	if err := options.check(flags.Args()); err != nil {
		fmt.Fprintf(problems, "whittle install: %v\n", err)
		return errUsage
	}
	ready, err := prepare(options, problems)
	if err != nil {
		return err
	}
	if options.set["alarmTopic"] == "" {
		warn(problems, "WARNING: the alarms page nobody: give the topic of your pager as -set alarmTopic=ARN")
	}
	if options.print {
		fmt.Fprint(problems, ready.commands())
		_, err := out.Write(ready.template)
		return err
	}
	loaded, err := config.LoadDefaultConfig(ctx, config.WithRegion(options.region))
	if err != nil {
		return fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if loaded.Region == "" {
		return errors.New("no region: pass -region, or set AWS_REGION")
	}
	return ready.within(ctx, administrator.New(loaded, options.cluster), func() error {
		return ready.deploy(ctx, deploy.New(loaded, now, out))
	})
}

// rights are install's right in the cluster.
type rights interface {
	Grant(ctx context.Context) (role string, err error)
	Revoke(ctx context.Context) (role string, err error)
}

// within deploys while install's role is administrator. The first deployment brings the role, with its right. A
// deployment that has failed keeps the right too, because CloudFormation may still roll back.
func (i *installation) within(ctx context.Context, of rights, deploy func() error) error {
	if i.options.administrator != "deployment" {
		return deploy()
	}
	if _, err := of.Grant(ctx); err != nil && !errors.Is(err, administrator.ErrNotInstalled) {
		return err
	}
	if err := deploy(); err != nil {
		return err
	}
	_, err := of.Revoke(ctx)
	return err
}

// check compares the flags. Its error names one and what to write.
func (o *installOptions) check(rest []string) error {
	o.prefix = strings.Trim(o.prefix, "/")
	switch {
	case len(rest) > 0:
		return fmt.Errorf("%q is no flag: write a setting as -set key=value", rest[0])
	case o.cluster == "":
		return errors.New("-cluster is missing: give the name of the EKS cluster")
	case o.release == "":
		return errors.New("-release is missing: give the folder of an unpacked release")
	case !bucketForm.MatchString(o.bucket):
		return fmt.Errorf("-bucket %q is no name of a bucket: give one of yours in the cluster's region", o.bucket)
	case !prefixForm.MatchString(o.prefix):
		return fmt.Errorf("-prefix %q: write letters, digits, - . _ and / between them, as in -prefix team/whittle", o.prefix)
	}
	if err := cfntemplate.CheckCluster(o.cluster); err != nil {
		return fmt.Errorf("-cluster: %w", err)
	}
	return nil
}

// prepare checks the release and renders its template.
func prepare(options installOptions, problems io.Writer) (*installation, error) {
	sums, err := trustedSums(options, problems)
	if err != nil {
		return nil, err
	}
	if err := signature.CheckSums(options.release, sums, []string{cfntemplate.Name}); err != nil {
		return nil, fmt.Errorf("-release: %w", err)
	}
	packed, err := os.ReadFile(filepath.Join(options.release, cfntemplate.Name))
	if err != nil {
		return nil, fmt.Errorf("-release: reading the templates: %w", err)
	}
	bundle, err := cfntemplate.Read(packed)
	if err != nil {
		return nil, fmt.Errorf("-release: %w", err)
	}
	values, err := bundle.Values(options.set)
	if err != nil {
		return nil, fmt.Errorf("-set %w", err)
	}
	made := &installation{
		options: options, bundle: bundle, stack: cfntemplate.NamesOf(options.cluster).Stack,
		protected: values["terminationProtection"] != "false",
		local:     filepath.Join(options.release, "functions", values["architecture"]),
	}
	var zips []string
	for _, name := range bundle.Functions {
		zips = append(zips, path.Join("functions", values["architecture"], name+".zip"))
	}
	if err := signature.CheckSums(options.release, sums, zips); err != nil {
		return nil, fmt.Errorf("-release: %w", err)
	}
	manifests, err := signature.FileSum(filepath.Join(made.local, "install.zip"))
	if err != nil {
		return nil, fmt.Errorf("-release: %w", err)
	}
	// Lambda takes new code only under a new key, so that the key changes with the content.
	digest := sha256.Sum256(sums)
	made.folder = path.Join(
		options.prefix, bundle.Version+"-"+hex.EncodeToString(digest[:6]), values["architecture"],
	)
	made.template, err = bundle.Render(cfntemplate.Input{
		Cluster: options.cluster, Bucket: options.bucket, Folder: made.folder, ManifestHash: manifests, Set: options.set,
	})
	if err != nil {
		return nil, fmt.Errorf("-set: %w", err)
	}
	return made, nil
}

// trustedSums returns the sums of a release. With a key, that key has signed them.
func trustedSums(options installOptions, problems io.Writer) ([]byte, error) {
	var key *minisign.PublicKey
	if options.releaseKey != "" {
		read, err := signature.ParseKey(options.releaseKey)
		if err != nil {
			return nil, fmt.Errorf("-release-key: %q is %w", options.releaseKey, err)
		}
		key = &read
	}
	sums, source, err := signature.ReadSums(key, options.release)
	if err != nil {
		return nil, fmt.Errorf("-release: %w", err)
	}
	switch {
	case key != nil && source.Version != version.Version:
		// An older release may have faults that are known by now.
		return nil, fmt.Errorf("-release: the signed release is %s, and this command is %s: use the command of the "+
			"release, or take the release %s", source.Version, version.Version, version.Version)
	case key != nil:
		fmt.Fprintf(problems, "the release %s of the commit %s is signed by the key %s\n", source.Version, source.Commit,
			signature.ID(key.ID()))
	case signature.IsSigned(options.release):
		fmt.Fprintf(problems, "nobody checked the signature %s: give the key that made it as -release-key\n", signature.Name)
	}
	return sums, nil
}

// templateKey is the key of the template in the bucket.
func (i *installation) templateKey() string { return path.Join(i.folder, i.stack+".template.json") }

// deploy uploads the release and brings the stack to its template.
func (i *installation) deploy(ctx context.Context, to *deploy.Deployer) error {
	for _, name := range i.bundle.Functions {
		if err := i.upload(ctx, to, name+".zip"); err != nil {
			return err
		}
	}
	if err := to.Upload(ctx, i.options.bucket, i.templateKey(), bytes.NewReader(i.template)); err != nil {
		return err
	}
	return to.Apply(ctx, deploy.Stack{
		Name: i.stack, TemplateURL: to.Address(i.options.bucket, i.templateKey()), Protected: i.protected,
	})
}

func (i *installation) upload(ctx context.Context, to *deploy.Deployer, name string) error {
	file, err := os.Open(filepath.Join(i.local, name))
	if err != nil {
		return fmt.Errorf("-release: %w", err)
	}
	defer func() { _ = file.Close() }()
	return to.Upload(ctx, i.options.bucket, path.Join(i.folder, name), file)
}

// commands are those of the aws CLI that deploy a printed template.
func (i *installation) commands() string {
	file := i.stack + ".template.json"
	return fmt.Sprintf(`# Save the template as %s, and deploy it:
aws s3 cp --recursive %s s3://%s/%s
aws cloudformation deploy --stack-name %s --template-file %s \
  --s3-bucket %s --s3-prefix %s --capabilities CAPABILITY_NAMED_IAM
`, file, quoted(i.local), i.options.bucket, i.folder, i.stack, file, i.options.bucket, i.folder)
}

// quoted writes a path for a shell.
func quoted(path string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_./-]+$`).MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
