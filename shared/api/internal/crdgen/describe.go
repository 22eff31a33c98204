package main

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// fieldDescriptions maps the fields of a type of Kubernetes to descriptions. The empty name stands
// for the type itself.
type fieldDescriptions map[string]string

func objectDescriptions() fieldDescriptions {
	return fieldDescriptions{
		"apiVersion": "The API group and version that the object is written in.",
		"kind":       "The object's kind.",
	}
}

func taintDescriptions() fieldDescriptions {
	return fieldDescriptions{
		"":      "Keeps pods that do not tolerate it from the node.",
		"key":   "The taint's key.",
		"value": "The taint's value, which tolerations may ask for.",
		"effect": "NoSchedule keeps new pods away, PreferNoSchedule does so where there is room elsewhere, " +
			"NoExecute also removes pods that run.",
		"timeAdded": "When a NoExecute taint was added.",
	}
}

func conditionDescriptions() fieldDescriptions {
	return fieldDescriptions{
		"":                   "A condition of the object.",
		"type":               "The type of the condition.",
		"status":             "True, False or Unknown.",
		"reason":             "The reason of the status, as one word for programs.",
		"message":            "The reason of the status, as text for people.",
		"lastTransitionTime": "The time at which the status last changed.",
		"observedGeneration": "The generation of the object that the status refers to.",
	}
}

func nodeSelectorRequirementDescriptions() fieldDescriptions {
	return fieldDescriptions{
		"":         "A condition on one label of a node.",
		"key":      "The label's key.",
		"operator": "The relation between the label's value and the values: In, NotIn, Exists, DoesNotExist, Gt or Lt.",
		"values":   "The values.",
	}
}

// describe replaces the descriptions that the generator took from Kubernetes' types.
func describe(crd map[string]any, resource string) error {
	schema, err := at(crd["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any), "schema", "openAPIV3Schema")
	if err != nil {
		return err
	}
	if err := describeFields(schema, objectDescriptions()); err != nil {
		return err
	}

	type place struct {
		path         []string
		descriptions fieldDescriptions
	}
	places := []place{{[]string{"properties", "status", "properties", "conditions", "items"}, conditionDescriptions()}}
	claim := []string{"properties", "spec"}
	switch resource {
	case api.NodePoolResource:
		claim = []string{"properties", "spec", "properties", "template", "properties", "spec"}
		fallthrough
	case api.NodeClaimResource:
		for _, list := range []string{"taints", "startupTaints"} {
			places = append(
				places, place{append(append([]string{}, claim...), "properties", list, "items"), taintDescriptions()},
			)
		}
	case api.NodeOverlayResource:
		fields := nodeSelectorRequirementDescriptions()
		fields["operator"] = "The relation between the label's value and the values: In, NotIn, Exists, DoesNotExist, " +
			"and for numbers Gt, Lt, Gte and Lte."
		places = append(places, place{append(append([]string{}, claim...), "properties", "requirements", "items"), fields})
	case legacy.ProvisionerResource:
		for _, list := range []string{"taints", "startupTaints"} {
			places = append(places, place{[]string{"properties", "spec", "properties", list, "items"}, taintDescriptions()})
		}
		places = append(places, place{
			[]string{"properties", "spec", "properties", "requirements", "items"}, nodeSelectorRequirementDescriptions(),
		})
	case api.EC2NodeClassResource, legacy.AWSNodeTemplateResource:
		places = append(places, place{
			[]string{"properties", "status", "properties", "amis", "items", "properties", "requirements", "items"},
			nodeSelectorRequirementDescriptions(),
		})
	}
	for _, place := range places {
		fields, err := at(schema, place.path...)
		if err != nil {
			return err
		}
		if err := describeFields(fields, place.descriptions); err != nil {
			return err
		}
	}
	return nil
}

// describeFields sets the descriptions of a schema and of its named fields.
func describeFields(schema map[string]any, descriptions fieldDescriptions) error {
	for name, description := range descriptions {
		target := schema
		if name != "" {
			field, err := at(schema, "properties", name)
			if err != nil {
				return err
			}
			target = field
		}
		target["description"] = description
	}
	return nil
}
