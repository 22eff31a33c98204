package provisioner

// Condition types of Provisioners and AWSNodeTemplates, the kinds before NodePool and EC2NodeClass.
const (
	// ConditionTypeActive tells whether a Provisioner has a NodePool that may launch nodes.
	ConditionTypeActive = "Active"
	// ConditionTypeSupported tells whether everything that the object asks for still exists.
	ConditionTypeSupported = "Supported"
)

// Reasons of these conditions.
const (
	// ReasonFieldNotSupported says that a field asks for what no longer exists.
	ReasonFieldNotSupported = "FieldNotSupported"
	// ReasonNotConverted says that the object cannot become a NodePool and an EC2NodeClass.
	ReasonNotConverted = "NotConverted"
	// ReasonNameTaken says that another NodePool or EC2NodeClass has the Provisioner's name.
	ReasonNameTaken = "NameTaken"
	// ReasonNodePoolNotReady says that the Provisioner's NodePool is not ready.
	ReasonNodePoolNotReady = "NodePoolNotReady"
)
