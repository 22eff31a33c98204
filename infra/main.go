// Command infra is the CDK app that deploys Whittle: one stack named Whittle, and in it, for each cluster named on the
// command line, the functions, queues, rules, schedules, roles and access entries of that cluster.
//
//	cdk deploy -c clusters=prod
//
// It makes no lookups and needs no account to synthesize: the template holds for every account and region.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "whittle: %v\n", err)
	}
	// Not before the message: jsii may print one of its own while its process ends.
	jsii.Close()
	if err != nil {
		os.Exit(1)
	}
}

// run synthesizes the app into the folder that the CDK command line names. An error is the user's to mend and reads so.
func run() error {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	configuration, err := readConfiguration(func(key string) any {
		return app.Node().TryGetContext(jsii.String(key))
	})
	if err != nil {
		return err
	}
	newStack(app, configuration)
	app.Synth(nil)
	return nil
}
