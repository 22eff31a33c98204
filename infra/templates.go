package infra

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/infra/cfntemplate"
	"github.com/whittle-dev/whittle/shared/version"
)

// The placeholders of settings. Each is correct to the CDK, and no user's value.
const (
	placeholderInterval    = 59*time.Minute + 59*time.Second
	placeholderQuietAfter  = 58*time.Minute + 58*time.Second
	placeholderRetention   = 2922
	placeholderRole        = "ZZwhittleZZnodesZZ"
	placeholderRoleARN     = "arn:aws:iam::000000000000:role/" + placeholderRole
	placeholderSubnet      = "subnet-0000000000000000f"
	placeholderGroup       = "sg-0000000000000000e"
	placeholderOwnGroup    = "sg-0000000000000000f"
	placeholderTopic       = "arn:aws:sns:us-east-1:000000000000:ZZwhittleZZtopicZZ"
	placeholderBoundary    = "arn:aws:iam::000000000000:policy/ZZwhittleZZboundaryZZ"
	placeholderAdmission   = "ZZwhittleZZadmissionZZ"
	placeholderPreferences = "ZZwhittleZZpreferencesZZ"
	placeholderMinValues   = "ZZwhittleZZminimumZZ"
	placeholderAccounts    = "ZZwhittleZZaccountsZZ"
	placeholderENIs        = "ZZwhittleZZinterfacesZZ"
	placeholderOverhead    = "ZZwhittleZZoverheadZZ"
)

// The parts of a template's shape.
const (
	shapeDryRun, shapeConfigMap, shapeNodeRole, shapeRule = "dryRun", "configMap", "nodeRole", "rule"
	shapeNetwork                                          = "network"
)

const (
	arnBeginning = `arn:aws[a-z-]*:`
	arnName      = `[A-Za-z0-9_.+=,@/-]+`
)

// templateSettings are the settings that a release's templates have. Their patterns accept what the
// settings of the same keys accept.
func templateSettings() []cfntemplate.Setting {
	examples := map[string]string{}
	for _, s := range stackSettings() {
		examples[s.key] = s.example
	}
	for _, s := range clusterSettings() {
		examples[s.key] = s.example
	}
	settings := []cfntemplate.Setting{
		{
			Key: "architecture", Pattern: "arm64|x86_64", Default: defaultArchitecture,
			Shapes: map[string]string{"arm64": "arm64", "x86_64": "x86_64"},
		},
		{Key: "dryRun", Pattern: "true|false", Default: "false", Shapes: map[string]string{"true": shapeDryRun}},
		{
			Key: "authenticationMode", Pattern: "API|CONFIG_MAP", Default: modeAPI,
			Shapes: map[string]string{modeConfigMap: shapeConfigMap},
		},
		{Key: "terminationProtection", Pattern: "true|false", Default: "true", Stack: true},
		{
			Key: "interval", Pattern: "([1-6]|10|12|15|20|30|60)s|1m", Default: defaultInterval.String(), Duration: true,
			Placeholder: placeholderInterval.String(),
		},
		{
			Key: "quietAfter", Pattern: "[1-9][0-9]s|([1-9]|[1-5][0-9]|60)m|1h", Default: defaultQuietAfter.String(),
			Duration: true, Placeholder: placeholderQuietAfter.String(),
		},
		{
			Key: "logRetention", Default: "14", Placeholder: fmt.Sprint(placeholderRetention),
			Pattern: "1|3|5|7|14|30|60|90|120|150|180|365|400|545|731|1096|1827|2192|2557|2922|3288|3653",
		},
		{Key: "alarmTopic", Pattern: arnBeginning + `sns:[a-z0-9-]+:[0-9]{12}:` + arnName, Placeholder: placeholderTopic},
		{
			Key: "subnets", Pattern: "subnet-[0-9a-f]{8,17}", List: true, Placeholder: placeholderSubnet,
			Needs: []string{"securityGroups"}, Shapes: map[string]string{"*": shapeNetwork},
		},
		{
			Key: "securityGroups", Pattern: "sg-[0-9a-f]{8,17}", List: true, Placeholder: placeholderGroup,
			Needs: []string{"subnets"},
		},
		{
			Key: "clusterSecurityGroup", Pattern: "sg-[0-9a-f]{8,17}", Placeholder: placeholderOwnGroup,
			Needs: []string{"subnets"}, Alone: "securityGroups", Shapes: map[string]string{"*": shapeRule},
		},
		{
			Key: "nodeRole", Pattern: arnBeginning + `iam::[0-9]{12}:role/` + arnName, Placeholder: placeholderRoleARN,
			NameOf: placeholderRole, Shapes: map[string]string{"*": shapeNodeRole},
		},
		{
			Key: "permissionBoundary", Pattern: arnBeginning + `iam::([0-9]{12}|aws):policy/` + arnName,
			Placeholder: placeholderBoundary,
		},
		{Key: "admission", Pattern: "audit|deny|off", Default: admissionAudit, Placeholder: placeholderAdmission},
		{Key: "preferencePolicy", Pattern: "Respect|Ignore", Placeholder: placeholderPreferences},
		{Key: "minValuesPolicy", Pattern: "Strict|BestEffort", Placeholder: placeholderMinValues},
		{
			Key: "karpenterServiceAccounts", Placeholder: placeholderAccounts, List: true,
			Pattern: "[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?",
		},
		{Key: "reservedENIs", Pattern: "[0-9]{1,3}", Placeholder: placeholderENIs},
		{Key: "vmMemoryOverheadPercent", Pattern: `0(\.[0-9]{1,6})?`, Placeholder: placeholderOverhead},
	}
	for i := range settings {
		settings[i].Example = examples[settings[i].Key]
	}
	return settings
}

// templateSettingsList documents the settings in Markdown.
func templateSettingsList() string {
	var keys []string
	for _, s := range templateSettings() {
		keys = append(keys, "* `"+s.Key+"`\n")
	}
	slices.Sort(keys)
	return strings.Join(keys, "")
}

// templateConfiguration has the placeholders of a shape.
func templateConfiguration(parts []string) clusterConfiguration {
	has := func(part string) bool { return slices.Contains(parts, part) }
	made := clusterDefaults(cfntemplate.ReservedCluster)
	made.interval, made.quietAfter, made.logRetention = placeholderInterval, placeholderQuietAfter, placeholderRetention
	made.alarmTopic, made.permissionBoundary, made.admission = placeholderTopic, placeholderBoundary, placeholderAdmission
	made.preferencePolicy, made.minValuesPolicy = placeholderPreferences, placeholderMinValues
	made.karpenterServiceAccounts = placeholderAccounts
	made.reservedENIs, made.vmMemoryOverheadPercent = placeholderENIs, placeholderOverhead
	made.dryRun = has(shapeDryRun)
	if has(shapeConfigMap) {
		made.authenticationMode = modeConfigMap
	}
	if has(shapeNodeRole) {
		made.nodeRole = placeholderRoleARN
	}
	if has(shapeNetwork) {
		made.subnets, made.securityGroups = []string{placeholderSubnet}, []string{placeholderGroup}
	}
	if has(shapeRule) {
		made.clusterSecurityGroup = placeholderOwnGroup
	}
	return made
}

// shapes returns each combination of parts that settings may ask for.
func shapes() [][]string {
	made := [][]string{}
	for _, architecture := range []string{"arm64", "x86_64"} {
		for _, network := range [][]string{nil, {shapeNetwork}, {shapeNetwork, shapeRule}} {
			for choice := range 8 {
				parts := append([]string{architecture}, network...)
				for i, part := range []string{shapeDryRun, shapeConfigMap, shapeNodeRole} {
					if choice&(1<<i) != 0 {
						parts = append(parts, part)
					}
				}
				made = append(made, parts)
			}
		}
	}
	return made
}

// Templates synthesizes the templates that a release holds, or those of some shapes. Its context are
// the feature flags of cdk.json. The templates do not depend on the functions, which need not be built.
func Templates(context map[string]any, wanted ...[]string) ([]byte, error) {
	if len(wanted) == 0 {
		wanted = shapes()
	}
	bundle, err := makeBundle(context, wanted)
	if err != nil {
		return nil, err
	}
	return bundle.Write()
}

// makeBundle synthesizes a template for each of some shapes.
func makeBundle(context map[string]any, wanted [][]string) (*cfntemplate.Bundle, error) {
	scratch, err := os.MkdirTemp("", "templates")
	if err != nil {
		return nil, fmt.Errorf("making a scratch folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	code, err := standIns(scratch)
	if err != nil {
		return nil, err
	}
	made := &cfntemplate.Bundle{
		Version: version.Version, Functions: functionNames(), Settings: templateSettings(),
		Paths: map[string]string{}, Templates: map[string]json.RawMessage{},
	}
	for i, parts := range wanted {
		app := awscdk.NewApp(&awscdk.AppProps{
			AnalyticsReporting: jsii.Bool(false), Context: &context,
			Outdir: jsii.String(filepath.Join(scratch, fmt.Sprint(i))),
		})
		stack, one := configuration{architecture: parts[0], functions: code, manifestHash: cfntemplate.ManifestHash},
			templateConfiguration(parts)
		template, err := synthesizeTemplate(app, stack, one, made.Paths)
		if err != nil {
			return nil, fmt.Errorf("the template with %s: %w", cfntemplate.Shape(parts), err)
		}
		made.Templates[cfntemplate.Shape(parts)] = template
	}
	return made, nil
}

// standIns returns a folder with a file in place of each function. The CDK wants to find code.
func standIns(scratch string) (string, error) {
	folder := filepath.Join(scratch, "functions")
	for _, name := range functionNames() {
		path := filepath.Join(folder, name, "bootstrap")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o755)); err != nil {
			return "", fmt.Errorf("writing a stand-in of %s: %w", name, err)
		}
	}
	return folder, nil
}

// synthesizeTemplate returns the template of a stack, with placeholders for the place of the code. It
// adds the paths of the constructs to paths.
func synthesizeTemplate(
	app awscdk.App, stack configuration, one clusterConfiguration, paths map[string]string,
) (json.RawMessage, error) {
	made := newStack(app, nil, one)
	scope := &whittle{}
	constructs.NewConstruct_Override(scope, made, jsii.String(one.name))
	newCluster(scope, stack, one)
	// A validation would find the placeholders. `make synth` checks templates with values.
	without := &awscdk.StageSynthesisOptions{SkipValidation: jsii.Bool(true)}
	file := app.Synth(without).GetStackByName(made.StackName()).TemplateFullPath()
	content, err := os.ReadFile(*file)
	if err != nil {
		return nil, err
	}
	var decoded map[string]map[string]any
	var whole map[string]any
	if err := json.Unmarshal(content, &whole); err != nil {
		return nil, err
	}
	decoded = map[string]map[string]any{}
	for _, section := range []string{"Resources", "Conditions", "Outputs"} {
		decoded[section], _ = whole[section].(map[string]any)
	}
	for _, resource := range decoded["Resources"] {
		if err := placeCode(resource.(map[string]any)); err != nil {
			return nil, err
		}
	}
	if err := findPaths(scope, decoded, paths); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// placeCode writes placeholders for the bucket and the key into a function.
func placeCode(resource map[string]any) error {
	if resource["Type"] != "AWS::Lambda::Function" {
		return nil
	}
	properties := resource["Properties"].(map[string]any)
	full, _ := properties["FunctionName"].(string)
	name := strings.TrimPrefix(full, cfntemplate.NamesOf(cfntemplate.ReservedCluster).Prefix+"-")
	if !slices.Contains(functionNames(), name) {
		return fmt.Errorf("the function %q is none of %v", full, functionNames())
	}
	properties["Code"] = map[string]any{"S3Bucket": cfntemplate.CodeBucket, "S3Key": cfntemplate.CodeKey + name}
	return nil
}

// findPaths finds the construct of each logical id. An id without one would stay as it is for every
// cluster.
func findPaths(scope constructs.Construct, sections map[string]map[string]any, paths map[string]string) error {
	known := map[string]string{}
	below := *scope.Node().Path() + "/"
	for _, construct := range *scope.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		if path, inside := strings.CutPrefix(*construct.Node().Path(), below); inside {
			id := cfntemplate.LogicalID(append([]string{cfntemplate.ReservedCluster}, strings.Split(path, "/")...))
			known[id] = path
		}
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		for _, id := range slices.Sorted(maps.Keys(sections[section])) {
			path, ok := known[id]
			if !ok {
				return fmt.Errorf("no construct has the logical id %s of %s", id, section)
			}
			paths[id] = path
		}
	}
	return nil
}
