package manifests

import (
	"strings"
	"testing"
)

// TestAllFaultsAreToldAtOnce reads files whose objects have several faults each. A person who mends one
// after another would need a run for each.
func TestAllFaultsAreToldAtOnce(t *testing.T) {
	const text = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  weight: heavy
  disruption: {consolidateAftr: 1m, consolidationPolicy: WhenEmtpy}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: defualt}
      requirements:
      - {key: karpenter.sh/capacity-typ, operator: In, values: [spot]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [Spot]}
      - {key: kubernetes.io/arch, operator: in, values: [amd64]}
      - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: [many]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: nodes
  instanceStorePolicy: RAID5
  amiSelectorTerms: [{alias: al2023@latst}]
  subnetSelectorTerm: [{id: subnet-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: other}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2032@latest}]
  subnetSelectorTerms: [{id: net-1}]
  securityGroupSelectorTerms: [{id: sg-1}]
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  hostNetwork: 'yes'
  nodeSelecter: {a: b}
  tolerations: [{key: a, operator: exists}]
  containers:
  - {name: c, image: x, resources: {requests: {cpu: -1, memory: 2 GB}}}
`
	_, err := Read([]string{"-"}, strings.NewReader(text))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`<stdin>:5: NodePool "default": spec.weight: "heavy": want a whole number`,
		`<stdin>:6: NodePool "default": spec.disruption.consolidateAftr: there is no such field, it is ignored: did you ` +
			`mean ` +
			`"consolidateAfter"?`,
		`<stdin>:6: NodePool "default": spec.disruption.consolidationPolicy: "WhenEmtpy": want one of WhenEmpty, ` +
			`WhenEmptyOrUnderutilized, Balanced: did you mean "WhenEmpty"?`,
		`NodePool "default": no file has its EC2NodeClass "defualt": the plan assumes its images, zones and volumes: did ` +
			`you mean "default"?`,
		`<stdin>:11: NodePool "default": spec.template.spec.requirements[0].key: "karpenter.sh/capacity-typ" cannot be ` +
			`chosen, it is set at the launch: use a label of your own domain: did you mean "karpenter.sh/capacity-type"?`,
		`<stdin>:12: NodePool "default": spec.template.spec.requirements[1].values: [Spot] has no value that ` +
			`"karpenter.sh/capacity-type" can have: use some of on-demand, reserved, spot: did you mean "spot"?`,
		`<stdin>:13: NodePool "default": spec.template.spec.requirements[2].operator: "in": want one of In, NotIn, Exists, ` +
			`DoesNotExist, Gt, Lt, Gte, Lte: did you mean "In"?`,
		`<stdin>:14: NodePool "default": spec.template.spec.requirements[3].values[0]: "many" is no integer`,
		`<stdin>:21: EC2NodeClass "default": spec.instanceStorePolicy: "RAID5" is not a policy`,
		`<stdin>:22: EC2NodeClass "default": spec.amiSelectorTerms[0].alias: "al2023@latst" has a version that no release ` +
			`has: write al2023@latest, or one such as al2023@v20261120: did you mean "al2023@latest"?`,
		`<stdin>:23: EC2NodeClass "default": spec.subnetSelectorTerm: there is no such field, it is ignored: did you mean ` +
			`"subnetSelectorTerms"?`,
		`<stdin>:31: EC2NodeClass "other": spec.amiSelectorTerms[0].alias: "al2032@latest" is not an alias`,
		`windows2025: did you mean "al2023@latest"?`,
		`<stdin>:32: EC2NodeClass "other": spec.subnetSelectorTerms[0].id: "net-1" is not an id`,
		`<stdin>:39: Pod "web": spec.hostNetwork: "yes": want true or false`,
		`<stdin>:40: Pod "web": spec.nodeSelecter: there is no such field, it is ignored: did you mean "nodeSelector"?`,
		`<stdin>:41: Pod "web": spec.tolerations[0].operator: "exists": want one of Exists, Equal, Lt, Gt: did you mean ` +
			`"Exists"?`,
		`<stdin>:43: Pod "web": spec.containers[0].resources.requests.cpu: -1: want zero or more`,
		`<stdin>:43: Pod "web": spec.containers[0].resources.requests.memory: "2 GB": want a quantity such as 2Gi`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("lacks %s", want)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 19 || t.Failed() {
		t.Errorf("%d lines:\n%s", len(lines), err)
	}
}
