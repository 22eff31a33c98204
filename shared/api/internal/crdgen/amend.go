package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

const (
	qualifiedName = `^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?` +
		`([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	labelValue = `^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	// volumeSize allows 1 to 59000 Gi, 64000 G, 58 Ti or 64 T, in whole units.
	volumeSize = `^(([1-9][0-9]{0,3}|[1-4][0-9]{4}|5[0-8][0-9]{3}|59000)Gi|` +
		`([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-3][0-9]{3}|64000)G|` +
		`([1-9]|[1-4][0-9]|5[0-8])Ti|([1-9]|[1-5][0-9]|6[0-4])T)$`
)

// amend adds to a generated definition the rules that markers cannot express.
func amend(crd map[string]any, resource, group string) error {
	crd["metadata"].(map[string]any)["name"] = resource + "." + group
	spec := crd["spec"].(map[string]any)
	spec["group"] = group

	version := spec["versions"].([]any)[0].(map[string]any)
	schema, err := at(version, "schema", "openAPIV3Schema", "properties")
	if err != nil {
		return err
	}
	switch resource {
	case api.NodePoolResource:
		return amendNodePool(schema)
	case api.NodeClaimResource:
		return amendNodeClaim(schema)
	case api.EC2NodeClassResource:
		return amendEC2NodeClass(schema)
	case api.NodeOverlayResource:
		version["name"] = api.OverlayVersion
		return amendNodeOverlay(schema)
	case api.CapacityBufferResource:
		version["name"] = api.CapacityBufferVersion
		return nil
	case legacy.ProvisionerResource:
		return nil // as lenient as it was: package legacy checks its objects
	case legacy.AWSNodeTemplateResource:
		version["name"] = "v1alpha1"
		return nil
	}
	return fmt.Errorf("no schema is known for %s", resource)
}

func amendNodePool(schema map[string]any) error {
	template, err := at(schema, "spec", "properties", "template", "properties")
	if err != nil {
		return err
	}
	claim, err := at(template, "spec", "properties")
	if err != nil {
		return err
	}
	if err := amendTaintsAndRequirements(claim); err != nil {
		return err
	}
	labels, err := at(template, "metadata", "properties", "labels")
	if err != nil {
		return err
	}
	value, err := at(labels, "additionalProperties")
	if err != nil {
		return err
	}
	value["maxLength"] = 63
	value["pattern"] = labelValue
	for _, rule := range keyRules("key") {
		addRule(labels, "self.all(key, "+rule.text+")", rule.message)
	}
	addRule(labels, fmt.Sprintf("self.all(key, key != '%s')", api.NodePoolLabelKey),
		api.NodePoolLabelKey+" is set by the pool itself: remove the label")
	return nil
}

func amendNodeClaim(schema map[string]any) error {
	claim, err := at(schema, "spec", "properties")
	if err != nil {
		return err
	}
	if err := amendTaintsAndRequirements(claim); err != nil {
		return err
	}
	// Claims from Karpenter may have conditions without reason and message.
	condition, err := at(schema, "status", "properties", "conditions", "items")
	if err != nil {
		return err
	}
	condition["required"] = []any{"lastTransitionTime", "status", "type"}
	reason, err := at(condition, "properties", "reason")
	if err != nil {
		return err
	}
	delete(reason, "minLength")
	reason["pattern"] = `^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$`
	return nil
}

func amendEC2NodeClass(schema map[string]any) error {
	size, err := at(schema,
		"spec", "properties", "blockDeviceMappings", "items", "properties", "ebs", "properties", "volumeSize")
	if err != nil {
		return err
	}
	// The generated schema also allows a bare number, which would be a size in bytes.
	for _, key := range []string{"anyOf", "allOf", "x-kubernetes-int-or-string"} {
		delete(size, key)
	}
	size["type"] = "string"
	size["pattern"] = volumeSize
	// The kubelet's settings are open: a rule here would refuse what Karpenter admits and reports.
	kubelet, err := at(schema, "spec", "properties", "kubelet")
	if err != nil {
		return err
	}
	delete(kubelet, "properties")
	return nil
}

// amendNodeOverlay narrows the requirements, which have a type of Kubernetes.
func amendNodeOverlay(schema map[string]any) error {
	requirement, err := at(schema, "spec", "properties", "requirements", "items", "properties")
	if err != nil {
		return err
	}
	key, operator := requirement["key"].(map[string]any), requirement["operator"].(map[string]any)
	values, err := at(requirement, "values", "items")
	if err != nil {
		return err
	}
	key["maxLength"], key["pattern"] = 316, qualifiedName
	operator["enum"] = []any{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}
	values["maxLength"], values["pattern"] = 63, labelValue
	for _, rule := range overlayKeyRules("self") {
		addRule(key, rule.text, rule.message)
	}
	return nil
}

// amendTaintsAndRequirements narrows a spec's taints, which have a type of Kubernetes, and adds the
// rules for the keys of requirements.
func amendTaintsAndRequirements(spec map[string]any) error {
	for _, field := range []string{"taints", "startupTaints"} {
		taint, err := at(spec, field, "items", "properties")
		if err != nil {
			return err
		}
		key, value := taint["key"].(map[string]any), taint["value"].(map[string]any)
		effect := taint["effect"].(map[string]any)
		key["minLength"] = 1
		key["pattern"] = qualifiedName
		value["pattern"] = "^$|" + qualifiedName
		effect["enum"] = []any{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	}
	key, err := at(spec, "requirements", "items", "properties", "key")
	if err != nil {
		return err
	}
	for _, rule := range keyRules("self") {
		addRule(key, rule.text, rule.message)
	}
	return nil
}

type rule struct {
	text, message string
}

// keyRules returns the expressions that refuse a label's key in the reserved domains of the API
// groups, except for well-known labels. The variable is the name of the key in the expressions.
func keyRules(variable string) []rule { return keyRulesWithout(variable, nil) }

// overlayKeyRules returns keyRules without the well-known labels that an overlay may not require.
func overlayKeyRules(variable string) []rule {
	return keyRulesWithout(variable, []string{
		api.LabelInstanceTenancy, api.LabelCapacityReservationID, api.LabelCapacityReservationType,
		api.LabelCapacityReservationInterruptible, api.LabelPlacementGroupID, api.LabelPlacementGroupPartition,
	})
}

func keyRulesWithout(variable string, refused []string) []rule {
	allowed := map[string][]string{}
	for _, key := range api.WellKnownLabels() {
		if slices.Contains(refused, key) {
			continue
		}
		domain, _, _ := strings.Cut(key, "/")
		allowed[domain] = append(allowed[domain], "'"+key+"'")
	}
	var rules []rule
	for _, domain := range []string{api.Group, api.AWSGroup} {
		rules = append(rules, rule{
			text: fmt.Sprintf("%s in [%s] || !%s.find('^([^/]+)').endsWith('%s')",
				variable, strings.Join(allowed[domain], ", "), variable, domain),
			message: fmt.Sprintf("the domain %s is reserved: use only its labels that select instances", domain),
		})
	}
	return append(rules, rule{
		text:    variable + " != 'kubernetes.io/hostname'",
		message: "kubernetes.io/hostname is known only after a launch: remove it",
	})
}

// addRule adds a CEL rule to a schema.
func addRule(schema map[string]any, text, message string) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	schema["x-kubernetes-validations"] = append(rules, map[string]any{"rule": text, "message": message})
}

// at returns the object at the end of a path of keys.
func at(object map[string]any, path ...string) (map[string]any, error) {
	for i, key := range path {
		next, ok := object[key].(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the generated definition has no %s", strings.Join(path[:i+1], "."))
		}
		object = next
	}
	return object, nil
}
