package infra

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// Synthesize writes the templates of the clusters that the CDK's context and the configuration file
// name, into the folder that the CDK command line names. Its errors tell the user what to change.
func Synthesize() error {
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
	for i := range configuration.clusters {
		// The CDK command line tells for which account and region it synthesizes.
		err := checkPlace(configuration.clusters[i].freezeAlarms, os.Getenv("CDK_DEFAULT_ACCOUNT"),
			os.Getenv("CDK_DEFAULT_REGION"))
		if err != nil {
			return err
		}
		if notice := pagesNotice(&configuration.clusters[i]); notice != "" {
			fmt.Fprintf(os.Stderr, "whittle: %s\n", notice)
		}
	}
	if _, err := newStacks(app, configuration); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}
