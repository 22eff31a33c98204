package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func main() {
	err := run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "whittle: %v\n", err)
	}
	// jsii may print its own message when it closes, so ours comes first.
	jsii.Close()
	if err != nil {
		os.Exit(1)
	}
}

// run synthesizes the app into the folder that the CDK command line names. Its errors tell the user
// what to change.
func run() error {
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	given, _ := app.Node().GetAllContext(nil).(map[string]any)
	if err := checkContext(slices.Collect(maps.Keys(given))); err != nil {
		return err
	}
	configuration, err := readConfiguration(func(key string) any {
		return app.Node().TryGetContext(jsii.String(key))
	})
	if err != nil {
		return err
	}
	if configuration.notice != "" {
		fmt.Fprintf(os.Stderr, "whittle: %s\n", configuration.notice)
	}
	newStacks(app, configuration)
	app.Synth(nil)
	return nil
}
