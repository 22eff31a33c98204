// Command app is the CDK app that deploys Whittle for the clusters that its settings name. cdk.json
// runs it. Those who have an app of their own import package infra instead.
package main

import (
	"fmt"
	"os"

	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra"
)

func main() {
	err := infra.Synthesize()
	if err != nil {
		fmt.Fprintf(os.Stderr, "whittle: %v\n", err)
	}
	// jsii may print its own message when it closes, so ours comes first.
	jsii.Close()
	if err != nil {
		os.Exit(1)
	}
}
