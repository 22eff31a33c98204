package infra_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra"
)

// A stack of one's own has the cluster's pages, and Whittle for the cluster.
func ExampleNewWhittle() {
	folder, err := folderOfFunctions()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(folder) }()
	app := awscdk.NewApp(nil)
	stack := awscdk.NewStack(app, jsii.String("Platform"), nil)
	pages := awssns.NewTopic(stack, jsii.String("Pages"), nil)
	whittle := infra.NewWhittle(stack, jsii.String("Whittle"), &infra.WhittleProps{
		ClusterName: jsii.String("prod"),
		Functions:   jsii.String(folder), // or Release: the folder of a release
		Interval:    awscdk.Duration_Seconds(jsii.Number(5)),
		AlarmTopic:  pages.TopicArn(),
	})
	awscdk.NewCfnOutput(stack, jsii.String("Nodes"), &awscdk.CfnOutputProps{Value: whittle.NodeRole().RoleName()})

	template := assertions.Template_FromStack(stack, nil)
	template.HasResourceProperties(jsii.String("AWS::Lambda::Function"), map[string]any{
		"FunctionName": "whittle-prod-ticker",
		"Environment":  map[string]any{"Variables": map[string]any{"TICK_INTERVAL": "5s"}},
	})
	template.AllResourcesProperties(jsii.String("AWS::CloudWatch::Alarm"), map[string]any{
		"AlarmActions": []any{map[string]any{"Ref": stack.GetLogicalId(pages.Node().DefaultChild().(awscdk.CfnElement))}},
	})
	fmt.Println("the dashboard is", *whittle.DashboardName())
	// Output: the dashboard is whittle-prod
}

// folderOfFunctions stands for build/functions/arm64, which `make build` leaves.
func folderOfFunctions() (string, error) {
	folder, err := os.MkdirTemp("", "functions")
	if err != nil {
		return "", err
	}
	for _, name := range []string{
		"ticker", "provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog", "install", "console",
	} {
		path := filepath.Join(folder, name, "bootstrap")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			return "", err
		}
	}
	return folder, nil
}
