package contract

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// prefix begins the name of everything that is created.
const prefix = "whittle-contract"

// Account is the account and region in which facts are observed.
type Account struct {
	// Cluster is an EKS cluster whose access entries are observed; empty for none.
	Cluster string

	config    aws.Config
	ec2       *ec2.Client
	eks       *eks.Client
	iam       *iam.Client
	sqs       *sqs.Client
	ssm       *ssm.Client
	events    *eventbridge.Client
	schedules *scheduler.Client
	metrics   *cloudwatch.Client
	run       string // tells this run's names from others'
	leftovers []leftover

	// What earlier facts have created for later ones.
	template, instance string
	// role is the ARN of a role without rights.
	role string
}

// leftover is something to delete at the end.
type leftover struct {
	name   string
	remove func(context.Context) error
}

// NewAccount returns the account of the configuration.
func NewAccount(config aws.Config, cluster string) (*Account, error) {
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	return &Account{
		Cluster: cluster, config: config, ec2: ec2.NewFromConfig(config), eks: eks.NewFromConfig(config),
		iam: iam.NewFromConfig(config), sqs: sqs.NewFromConfig(config), ssm: ssm.NewFromConfig(config),
		events: eventbridge.NewFromConfig(config), schedules: scheduler.NewFromConfig(config),
		metrics: cloudwatch.NewFromConfig(config), run: hex.EncodeToString(id),
	}, nil
}

// name is the name of something new.
func (a *Account) name(of string) string { return prefix + "-" + of + "-" + a.run }

// later deletes something at the end. What was created last is deleted first.
func (a *Account) later(name string, remove func(context.Context) error) {
	a.leftovers = append(a.leftovers, leftover{name, remove})
}

// tries is how often a deletion is tried: IAM and EC2 refuse while the one does not know of the
// other's deletion.
const tries = 5

func (a *Account) clean(ctx context.Context) error {
	var failed []error
	for _, one := range slices.Backward(a.leftovers) {
		var err error
		for try := range tries {
			bounded, cancel := context.WithTimeout(ctx, time.Minute)
			err = one.remove(bounded)
			cancel()
			if err == nil {
				break
			}
			time.Sleep(time.Duration(try) * time.Second)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s is left, delete it by hand: %w", one.name, err))
		}
	}
	a.leftovers = nil
	return errors.Join(failed...)
}

// pollEvery is the time between two looks at something that is to change.
const pollEvery = 200 * time.Millisecond

// until looks until the condition holds, and returns the time that took.
func until(ctx context.Context, condition func() (bool, error)) (time.Duration, error) {
	began := time.Now()
	for {
		done, err := condition()
		if err != nil || done {
			return time.Since(began), err
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return time.Since(began), ctx.Err()
		}
	}
}
