package legacy

import "github.com/whittle-dev/whittle/shared/api"

// Values of apiVersion.
const (
	ProvisionerAPIVersion     = api.Group + "/v1alpha5"
	AWSNodeTemplateAPIVersion = api.AWSGroup + "/v1alpha1"
	BetaAPIVersion            = api.Group + "/v1beta1"
	AWSBetaAPIVersion         = api.AWSGroup + "/v1beta1"
)

// Kinds that v1 does not have.
const (
	ProvisionerKind     = "Provisioner"
	AWSNodeTemplateKind = "AWSNodeTemplate"
)

// Resource names, the plural forms in REST paths and RBAC rules.
const (
	ProvisionerResource     = "provisioners"
	AWSNodeTemplateResource = "awsnodetemplates"
)

// REST paths of the collections. Both kinds are cluster scoped.
const (
	ProvisionersPath     = "/apis/" + ProvisionerAPIVersion + "/" + ProvisionerResource
	AWSNodeTemplatesPath = "/apis/" + AWSNodeTemplateAPIVersion + "/" + AWSNodeTemplateResource
)

// Names of the CustomResourceDefinitions.
const (
	ProvisionerCRD     = ProvisionerResource + "." + api.Group
	AWSNodeTemplateCRD = AWSNodeTemplateResource + "." + api.AWSGroup
)

// Keys of the old kinds that have a new name, or none.
const (
	// DoNotConsolidateKey on a node is now api.DoNotDisruptAnnotationKey.
	DoNotConsolidateKey = api.Group + "/do-not-consolidate"
	// LabelInstancePods was the number of pods that an instance type can run.
	LabelInstancePods = api.AWSGroup + "/instance-pods"
	// LabelInstanceAMIID was the id of the node's image.
	LabelInstanceAMIID = api.AWSGroup + "/instance-ami-id"
)
