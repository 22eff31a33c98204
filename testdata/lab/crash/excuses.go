package crash

// unreachable maps kills that cannot happen to the reason. A key is a scenario's title, a side of the
// call, and the call with the kind of its arguments.
func unreachable() map[string]string {
	return map[string]string{}
}

// unused maps rights that no scenario uses to the reason. A key is a function and a call. A right that
// a scenario could use gets a scenario instead.
func unused() map[string]string {
	const spread = "only with the setting defaultTopologySpread: package sight tries it, and a list has no effect"
	const watch = "starts a watch, which scenarios do without: package reaction tries a start that fails"
	const resized = "only for a pod that was resized in place: package sight tries it, and a read has no effect"
	const history = "reads the logs for the page, which scenarios do without: the world's test of the page has it"
	const large = "confirms events that name more than ten nodes, and the scenarios have fewer"
	return map[string]string{
		"interrupt ec2:DescribeInstanceStatus":       large,
		"interrupt ec2:DescribeCapacityReservations": large,
		"console logs:StartQuery":                    history,
		"console logs:GetQueryResults":               history,
		"install events:PutEvents": "tests whether events arrive, and CloudFormation repeats it: a test of " +
			"install has lost events and denials, and the world has the rest",

		"provision GET replicasets":             resized,
		"provision GET statefulsets":            resized,
		"provision GET jobs":                    resized,
		"disrupt GET replicasets":               resized,
		"disrupt GET statefulsets":              resized,
		"disrupt GET jobs":                      resized,
		"provision lambda:POST 2015-03-31":      watch,
		"lifecycle lambda:POST 2015-03-31":      watch,
		"provision LIST services":               spread,
		"provision LIST replicationcontrollers": spread,
		"provision LIST replicasets":            spread,
		"provision LIST statefulsets":           spread,
		"disrupt LIST services":                 spread,
		"disrupt LIST replicationcontrollers":   spread,
		"disrupt LIST replicasets":              spread,
		"disrupt LIST statefulsets":             spread,
		"provision ec2:CreateTags":              "EC2 checks it in CreateFleet and CreateLaunchTemplate, which name tags",
		"provision iam:TagInstanceProfile":      "IAM checks it in CreateInstanceProfile, whose call names tags",
	}
}
