package ec2

import (
	"context"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// RegisterTypes holds the service's CloudFormation type.
func (s *Service) RegisterTypes(cfn *cloudformation.Service) {
	cfn.RegisterType("AWS::EC2::SecurityGroupIngress", &ingressType{s})
}

// ingressType is AWS::EC2::SecurityGroupIngress. As those of a group itself, rules are checked and
// never enforced.
type ingressType struct{ service *Service }

type ingressProperties struct {
	Description           string
	IPProtocol            string `json:"IpProtocol"`
	GroupID               string `json:"GroupId"`
	SourceSecurityGroupID string `json:"SourceSecurityGroupId"`
	FromPort, ToPort      int
}

func (t *ingressType) check(r cloudformation.Request) error {
	var p ingressProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	for _, id := range []string{p.GroupID, p.SourceSecurityGroupID} {
		if t.service.vpc.group(id) == nil {
			return refuse("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}
	if p.IPProtocol == "" {
		return missing("IpProtocol")
	}
	return nil
}

// Create checks the rule.
func (t *ingressType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if err := t.check(r); err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: r.GeneratedName}, nil
}

// Update checks the rule again.
func (t *ingressType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if err := t.check(r); err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: r.PhysicalID}, nil
}

// Delete does nothing, because rules are not enforced.
func (t *ingressType) Delete(context.Context, cloudformation.Request) error { return nil }
