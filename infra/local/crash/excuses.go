package crash

// unreachable maps kills that cannot happen to the reason. A key is a scenario's title, a side of the
// call, and the call with the kind of its arguments.
func unreachable() map[string]string {
	return map[string]string{}
}

// unused maps rights that no scenario uses to the reason. A key is a function and a call. A right that
// a scenario could use gets a scenario instead.
func unused() map[string]string {
	return map[string]string{
		"provision ec2:CreateTags":         "EC2 checks it in CreateFleet and CreateLaunchTemplate, whose calls name tags",
		"provision iam:TagInstanceProfile": "IAM checks it in CreateInstanceProfile, whose call names tags",
	}
}
