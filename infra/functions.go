package infra

import (
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/whittle-dev/whittle/shared/metrics"
)

const (
	// workTimeout is the timeout of the functions that read a queue.
	workTimeout = 60 * time.Second
	// interruptTimeout is short, so that SQS soon repeats a failed warning: spot gives two minutes.
	interruptTimeout = 10 * time.Second
	// watchTimeout is the longest that Lambda has taken in every region for years. A watch hands over to the next
	// one before. Lambda's limit of 30 minutes is new: cfn-lint 1.58 (E3717) refuses more than 900 s, and a region
	// without it would roll the stack back. Half as many hand-overs save 1 % of a watch, $0.04 a month at most.
	watchTimeout = 15 * time.Minute
	// passes is the maximum concurrency of lifecycle and interrupt for each queue: one invocation works,
	// and one begins as it ends. More invocations would repeat the same work. Two of them get full
	// batches in a storm, and list the claims once for ten events. Lambda accepts no smaller number.
	passes = 2
	// batchSize is the most messages that Lambda passes to one invocation.
	batchSize = 10
)

// functionNames returns the folders of a build, one for each function.
func functionNames() []string {
	return []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog", "install", "console"}
}

// defaultMemory returns MB by function, with which 5,000 nodes and 100,000 pods leave a quarter
// spare: make bench-scale. Lambda gives processor time in proportion to memory.
func defaultMemory() map[string]float64 {
	return map[string]float64{
		"ticker": 128, "provision": 1536, "interrupt": 1024, "lifecycle": 512, "disrupt": 1536, "watch": 128,
		"catalog": 512, "install": 256, "console": 1024,
	}
}

// memory returns the memory of a function in MB.
func (c *cluster) memory(function string) float64 {
	if chosen, ok := c.configuration.memory[function]; ok {
		return chosen
	}
	return defaultMemory()[function]
}

// function is a Lambda function with its own role.
type function struct {
	name   string
	role   awsiam.Role
	lambda awslambda.Function
	log    awslogs.LogGroup
	// sends are the queues that the function sends to.
	sends []awssqs.Queue
}

// functions holds a cluster's functions.
type functions struct {
	ticker, provision, interrupt, lifecycle, disrupt, watch, catalog, install, console function
}

// functionProperties holds the differences between functions.
type functionProperties struct {
	name, id, description string
	timeout               time.Duration
	// outsideVPC is for a function that calls AWS only: it does not need the cluster's network.
	outsideVPC bool
	// queues wake the function, each with a mapping of its own. A function that is invoked has none.
	queues []awssqs.Queue
	// recursive is for a function whose messages lead back to it. Lambda would stop chains of about
	// 16 invocations, and does not say how it counts a batch in which chains meet. The functions end
	// their chains themselves: queue.MaximumHops.
	recursive bool
	// once is for a function whose failed event is not repeated: whoever sent it sends another.
	once bool
	// concurrency is the most invocations at once from a queue. 0 leaves it to Lambda.
	concurrency float64
	environment map[string]*string
	// sends are the queues that the function sends to. No other function may.
	sends []awssqs.Queue
	// statements are the rights besides those for the function's log and queues.
	statements []awsiam.PolicyStatement
}

func newFunctions(c *cluster, q queues, nodes nodeRoles) functions {
	dryRun, podCosts := enabled(c.configuration.dryRun), enabled(c.configuration.podDeletionCost)
	buffers, requests := enabled(c.configuration.capacityBuffers), enabled(c.configuration.provisioningRequests)
	commitments := enabled(c.configuration.commitments)
	karpenter, written := jsii.String(c.configuration.karpenterServiceAccounts), jsii.String("")
	if c.configuration.metrics != metrics.DetailFew {
		written = jsii.String(string(c.configuration.metrics))
	}
	catalog := newFunction(c, functionProperties{
		name: "catalog", id: "Catalog", timeout: 2 * time.Minute,
		description: "Reads instance types, offerings and prices into one snapshot",
		environment: given(map[string]*string{
			"RESERVED_ENIS":              jsii.String(c.configuration.reservedENIs),
			"VM_MEMORY_OVERHEAD_PERCENT": jsii.String(c.configuration.vmMemoryOverheadPercent),
			"COMMITMENTS":                commitments,
			"COMMITMENT_FILE":            jsii.String(c.configuration.commitmentFile),
		}),
		statements: catalogStatements(c),
	})
	installEnvironment := installSettings(c)
	installEnvironment["CATALOG_FUNCTION"] = catalog.lambda.FunctionName()
	made := functions{
		ticker: newFunction(c, functionProperties{
			name: "ticker", id: "Ticker", outsideVPC: true, timeout: 30 * time.Second,
			description: "Sends the ticks of the next minute",
			environment: map[string]*string{
				"TICK_INTERVAL":       jsii.String(c.configuration.interval.String()),
				"PROVISION_QUEUE_URL": q.provision.QueueUrl(),
				"LIFECYCLE_QUEUE_URL": q.lifecycle.QueueUrl(),
				"DISRUPT_QUEUE_URL":   q.disrupt.QueueUrl(),
			},
			sends: []awssqs.Queue{q.provision, q.lifecycle, q.disrupt},
		}),
		provision: newFunction(c, functionProperties{
			name: "provision", id: "Provision", timeout: workTimeout, queues: []awssqs.Queue{q.provision}, recursive: true,
			description: "Launches nodes for pending pods",
			environment: given(map[string]*string{
				"PROVISION_QUEUE_URL":        q.provision.QueueUrl(),
				"LIFECYCLE_QUEUE_URL":        q.lifecycle.QueueUrl(),
				"PREFERENCE_POLICY":          jsii.String(c.configuration.preferencePolicy),
				"MIN_VALUES_POLICY":          jsii.String(c.configuration.minValuesPolicy),
				"DEFAULT_TOPOLOGY_SPREAD":    jsii.String(c.configuration.defaultTopologySpread),
				"DISABLE_DRY_RUN":            jsii.String(c.configuration.disableDryRun),
				"POD_DELETION_COST":          podCosts,
				"COMMITMENTS":                commitments,
				"MAX_DOLLARS_PER_HOUR":       jsii.String(c.configuration.maxDollarsPerHour),
				"DISPERSAL_PERCENT":          jsii.String(c.configuration.dispersalPercent),
				"CAPACITY_BUFFERS":           buffers,
				"PROVISIONING_REQUESTS":      requests,
				"NODE_CLASS_CEL":             jsii.String(c.configuration.nodeClassCEL),
				"DRY_RUN":                    dryRun,
				"EVENT_BUS":                  eventBusOf(c),
				"KARPENTER_SERVICE_ACCOUNTS": karpenter,
				"METRICS":                    written,
				"ZONAL_SHIFT_CLUSTER_ARN":    shiftedCluster(c),
				"FREEZE_ALARMS":              freezeAlarmsOf(c),
				"FREEZE_TAGGED_ALARMS":       taggedAlarmsFreeze(c),
				"FREEZE_ON_INSUFFICIENT_DATA": enabled(
					alarmsFreeze(c) && c.configuration.freezeOnInsufficientData),
			}, startsWatch(c)),
			sends:      []awssqs.Queue{q.provision, q.lifecycle},
			statements: provisionStatements(c, nodes),
		}),
		interrupt: newFunction(c, functionProperties{
			name: "interrupt", id: "Interrupt", timeout: interruptTimeout, queues: q.ofEvents(), concurrency: passes,
			description: "Replaces and drains nodes that EC2 is about to end",
			environment: given(map[string]*string{
				"INTERRUPT_QUEUE_URL":        q.interrupt.QueueUrl(),
				"WARNINGS_QUEUE_URL":         q.warnings.QueueUrl(),
				"PROVISION_QUEUE_URL":        q.provision.QueueUrl(),
				"LIFECYCLE_QUEUE_URL":        q.lifecycle.QueueUrl(),
				"DRY_RUN":                    dryRun,
				"KARPENTER_SERVICE_ACCOUNTS": karpenter,
				"METRICS":                    written,
			}),
			sends:      []awssqs.Queue{q.provision, q.lifecycle},
			statements: interruptStatements(c, q),
		}),
		lifecycle: newFunction(c, functionProperties{
			name: "lifecycle", id: "Lifecycle", timeout: workTimeout, queues: []awssqs.Queue{q.lifecycle},
			recursive: true, concurrency: passes,
			description: "Registers, initializes, drains and terminates nodes",
			environment: given(map[string]*string{
				"PROVISION_QUEUE_URL":        q.provision.QueueUrl(),
				"LIFECYCLE_QUEUE_URL":        q.lifecycle.QueueUrl(),
				"BINDING":                    jsii.String(c.configuration.binding),
				"COMMITMENTS":                commitments,
				"COMMITMENT_PERCENT":         jsii.String(c.configuration.commitmentPercent),
				"NODE_CLASS_CEL":             jsii.String(c.configuration.nodeClassCEL),
				"DRY_RUN":                    dryRun,
				"EVENT_BUS":                  eventBusOf(c),
				"KARPENTER_SERVICE_ACCOUNTS": karpenter,
				"NODEPOOL_METRICS":           jsii.String(strings.Join(c.configuration.nodePoolMetrics, ",")),
				"METRICS":                    written,
				"ZONAL_SHIFT_CLUSTER_ARN":    shiftedCluster(c),
			}, namesRoles(c, nodes), startsWatch(c)),
			sends:      []awssqs.Queue{q.provision, q.lifecycle},
			statements: lifecycleStatements(c, nodes),
		}),
		disrupt: newFunction(c, functionProperties{
			name: "disrupt", id: "Disrupt", timeout: workTimeout, queues: []awssqs.Queue{q.disrupt}, recursive: true,
			description: "Removes nodes that are empty, outdated or too expensive",
			environment: given(map[string]*string{
				"DISRUPT_QUEUE_URL":          q.disrupt.QueueUrl(),
				"LIFECYCLE_QUEUE_URL":        q.lifecycle.QueueUrl(),
				"PROVISION_QUEUE_URL":        q.provision.QueueUrl(),
				"PREFERENCE_POLICY":          jsii.String(c.configuration.preferencePolicy),
				"MIN_VALUES_POLICY":          jsii.String(c.configuration.minValuesPolicy),
				"DEFAULT_TOPOLOGY_SPREAD":    jsii.String(c.configuration.defaultTopologySpread),
				"DRY_RUN":                    dryRun,
				"EVENT_BUS":                  eventBusOf(c),
				"KARPENTER_SERVICE_ACCOUNTS": karpenter,
				"METRICS":                    written,
				"ZONAL_SHIFT_CLUSTER_ARN":    shiftedCluster(c),
				"POD_DELETION_COST":          podCosts,
				"COMMITMENTS":                commitments,
				"MAX_DOLLARS_PER_HOUR":       jsii.String(c.configuration.maxDollarsPerHour),
				"DISPERSAL_PERCENT":          jsii.String(c.configuration.dispersalPercent),
				"CAPACITY_BUFFERS":           buffers,
				"PROVISIONING_REQUESTS":      requests,
				"TERMINATE_FIRST":            jsii.String(strings.Join(c.configuration.terminateFirst, ",")),
				"REBOOT_FOR_REPAIR":          enabled(c.configuration.rebootForRepair),
			}),
			sends:      []awssqs.Queue{q.disrupt, q.lifecycle, q.provision},
			statements: disruptStatements(c),
		}),
		watch: newFunction(c, functionProperties{
			name: "watch", id: "Watch", timeout: watchTimeout, recursive: true, once: true,
			description: "Wakes other functions as soon as the cluster changes",
			environment: given(map[string]*string{
				"PROVISION_QUEUE_URL":        q.provision.QueueUrl(),
				"LIFECYCLE_QUEUE_URL":        q.lifecycle.QueueUrl(),
				"DISRUPT_QUEUE_URL":          q.disrupt.QueueUrl(),
				"KARPENTER_SERVICE_ACCOUNTS": karpenter,
				"METRICS":                    written,
			}, startsWatch(c)),
			sends:      []awssqs.Queue{q.provision, q.lifecycle, q.disrupt},
			statements: watchStatements(c),
		}),
		catalog: catalog,
		install: newFunction(c, functionProperties{
			name: "install", id: "Install", timeout: 5 * time.Minute,
			description: "Applies the custom resource definitions and roles in the cluster",
			environment: installEnvironment,
			statements:  installStatements(c, q, catalog),
		}),
	}
	made.console = newConsole(c, made)
	return made
}

// enabled is the variable of a setting that is off without a value.
func enabled(on bool) *string {
	if on {
		return jsii.String("true")
	}
	return jsii.String("")
}

// eventBusOf is the bus that gets events of a function. A dry run does nothing that an event could tell.
func eventBusOf(c *cluster) *string {
	if c.configuration.dryRun {
		return jsii.String("")
	}
	return jsii.String(c.configuration.eventBus)
}

// namesRoles is the environment of lifecycle, which makes classes for templates that name no profile.
func namesRoles(c *cluster, nodes nodeRoles) map[string]*string {
	environment := map[string]*string{
		"DEFAULT_INSTANCE_PROFILE": jsii.String(c.configuration.defaultInstanceProfile),
		"NODE_ROLE":                nodes.linux.RoleName(),
	}
	if nodes.windows != nil {
		environment["WINDOWS_NODE_ROLE"] = nodes.windows.RoleName()
	}
	return environment
}

// startsWatch is the environment of functions that start a watch. It is empty in the mode poll. A
// dry run writes no Lease, so that nothing would keep two watches apart.
func startsWatch(c *cluster) map[string]*string {
	if !c.watches() {
		return nil
	}
	return map[string]*string{
		// A reference to the function would make a circle of provision, watch and the rights of both.
		"WATCH_FUNCTION": c.physicalName("watch"),
		"REACTION":       jsii.String(c.configuration.reaction),
		"QUIET_AFTER":    jsii.String(c.configuration.quietAfter.String()),
	}
}

// watches reports whether a watch runs at times.
func (c *cluster) watches() bool {
	return c.configuration.reaction != reactionPoll && !c.configuration.dryRun
}

// given joins environments, and removes the variables without a value.
func given(environment map[string]*string, more ...map[string]*string) map[string]*string {
	for _, other := range more {
		maps.Copy(environment, other)
	}
	maps.DeleteFunc(environment, func(_ string, value *string) bool { return *value == "" })
	return environment
}

// newFunction adds a function, its role and its log group. With a queue it also adds the event
// source mapping.
func newFunction(c *cluster, p functionProperties) function {
	scope := constructs.NewConstruct(c.scope, jsii.String(p.id))
	logs := newLog(c, scope, p.name)
	statements := append([]awsiam.PolicyStatement{writeLog(logs)}, p.statements...)
	if len(p.sends) > 0 {
		statements = append(statements, sendMessages(p.sends...))
	}
	if len(p.queues) > 0 {
		statements = append(statements, readQueues(p.queues...))
	}
	if c.configuration.kmsKey != "" {
		statements = append(statements, useKey(c))
	}
	inside := !p.outsideVPC && len(c.configuration.subnets) > 0
	if inside {
		statements = append(statements, joinNetwork(c, p.name)...)
	}
	role := awsiam.NewRole(scope, jsii.String("Role"), &awsiam.RoleProps{
		RoleName:    c.roleName(p.name),
		Description: jsii.String("Whittle's function " + p.name + " for the cluster " + c.name),
		AssumedBy:   awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{
			p.name: awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{Statements: &statements}),
		},
	})
	acknowledgeWildcards(role, statements)
	environment := map[string]*string{"CLUSTER_NAME": jsii.String(c.name)}
	for key, value := range p.environment {
		environment[key] = value
	}
	lambda := awslambda.NewFunction(scope, jsii.String("Function"), &awslambda.FunctionProps{
		FunctionName:  c.physicalName(p.name),
		Description:   jsii.String(p.description),
		Runtime:       awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:  lambdaArchitecture(c.stack.architecture),
		Handler:       jsii.String("bootstrap"),
		Code:          awslambda.Code_FromAsset(jsii.String(c.stack.code(p.name)), nil),
		MemorySize:    jsii.Number(c.memory(p.name)),
		Timeout:       seconds(p.timeout),
		Environment:   &environment,
		Role:          role,
		LogGroup:      logs,
		LoggingFormat: awslambda.LoggingFormat_JSON,
		// Lambda's metrics say enough about successful invocations. WARN still logs time-outs and
		// crashes.
		SystemLogLevelV2: awslambda.SystemLogLevel_WARN,
		Tracing:          awslambda.Tracing_DISABLED,
	})
	if p.recursive {
		lambda.Node().DefaultChild().(awslambda.CfnFunction).AddPropertyOverride(jsii.String("RecursiveLoop"),
			awscdk.Fn_ConditionIf(c.recursionSetting.LogicalId(), "Allow", awscdk.Aws_NO_VALUE()))
	}
	if p.once {
		lambda.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{
			MaxEventAge: seconds(time.Minute), RetryAttempts: jsii.Number(0),
		})
	}
	if inside {
		// The construct would look up the VPC in an account. Lambda needs the ids only.
		lambda.Node().DefaultChild().(awslambda.CfnFunction).SetVpcConfig(&awslambda.CfnFunction_VpcConfigProperty{
			SubnetIds:        jsii.Strings(c.configuration.subnets...),
			SecurityGroupIds: jsii.Strings(c.configuration.securityGroups...),
		})
	}
	for i, queue := range p.queues {
		newMapping(scope, []string{"Messages", "Warnings"}[i], lambda, queue, p.concurrency)
	}
	return function{name: p.name, role: role, lambda: lambda, log: logs, sends: p.sends}
}

// newMapping lets Lambda poll the queue for the function.
func newMapping(
	scope constructs.Construct, id string, lambda awslambda.Function, queue awssqs.Queue, concurrency float64,
) {
	mapping := &awslambda.EventSourceMappingProps{
		Target:                  lambda,
		EventSourceArn:          queue.QueueArn(),
		BatchSize:               jsii.Number(batchSize),
		ReportBatchItemFailures: jsii.Bool(true),
	}
	// A maximum concurrency keeps Lambda from polling a quiet queue less often, and polls are
	// most of an idle cluster's cost. Provision and disrupt need none: without the Lease a
	// second invocation ends at once.
	// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
	if concurrency > 0 {
		mapping.MaxConcurrency = jsii.Number(concurrency)
	}
	awslambda.NewEventSourceMapping(scope, jsii.String(id), mapping)
}

// newLog adds a function's log group. CloudFormation deletes it with the stack.
func newLog(c *cluster, scope constructs.Construct, name string) awslogs.LogGroup {
	properties := &awslogs.LogGroupProps{
		LogGroupName:  jsii.String("/aws/lambda/" + *c.physicalName(name)),
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	}
	if key := c.configuration.kmsKey; key != "" {
		properties.EncryptionKey = awskms.Key_FromKeyArn(scope, jsii.String("Key"), &key)
	}
	group := awslogs.NewLogGroup(scope, jsii.String("Log"), properties)
	group.Node().DefaultChild().(awslogs.CfnLogGroup).SetRetentionInDays(jsii.Number(c.configuration.logRetention))
	return group
}

// code is the folder or the zip of a function.
func (c *configuration) code(name string) string {
	if c.release != "" {
		name += ".zip"
	}
	return filepath.Join(c.functions, name)
}

// newRecursionSetting adds the condition that Lambda has a setting for recursive loops in the region. Where it
// lacks the setting, a stack that asks for it rolls back.
// https://github.com/aws/aws-lambda-roadmap/issues/18
func newRecursionSetting(scope constructs.Construct) awscdk.CfnCondition {
	terms := []awscdk.ICfnConditionExpression{awscdk.Fn_ConditionEquals(awscdk.Aws_PARTITION(), "aws")}
	for _, region := range []string{"mx-central-1", "ap-southeast-6"} {
		terms = append(terms, awscdk.Fn_ConditionNot(awscdk.Fn_ConditionEquals(awscdk.Aws_REGION(), region)))
	}
	return awscdk.NewCfnCondition(scope, jsii.String("RecursionSetting"), &awscdk.CfnConditionProps{
		Expression: awscdk.Fn_ConditionAnd(terms...),
	})
}

func lambdaArchitecture(name string) awslambda.Architecture {
	if name == "x86_64" {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}
