package eks

import (
	"encoding/base64"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// The structures are the Cluster of
// https://docs.aws.amazon.com/eks/latest/APIReference/API_Cluster.html.

type clusterJSON struct {
	Name                    string            `json:"name"`
	ARN                     string            `json:"arn"`
	CreatedAt               wire.Time         `json:"createdAt"`
	Version                 string            `json:"version"`
	Endpoint                string            `json:"endpoint"`
	RoleARN                 string            `json:"roleArn"`
	ResourcesVpcConfig      vpcConfigJSON     `json:"resourcesVpcConfig"`
	KubernetesNetworkConfig networkConfigJSON `json:"kubernetesNetworkConfig"`
	Status                  string            `json:"status"`
	CertificateAuthority    certificateJSON   `json:"certificateAuthority"`
	PlatformVersion         string            `json:"platformVersion"`
	Tags                    map[string]string `json:"tags"`
	AccessConfig            accessConfigJSON  `json:"accessConfig"`
}

type vpcConfigJSON struct {
	SubnetIDs              []string `json:"subnetIds"`
	SecurityGroupIDs       []string `json:"securityGroupIds"`
	ClusterSecurityGroupID string   `json:"clusterSecurityGroupId,omitempty"`
	VpcID                  string   `json:"vpcId,omitempty"`
	EndpointPublicAccess   bool     `json:"endpointPublicAccess"`
	EndpointPrivateAccess  bool     `json:"endpointPrivateAccess"`
	PublicAccessCIDRs      []string `json:"publicAccessCidrs"`
}

type networkConfigJSON struct {
	ServiceIPv4CIDR string `json:"serviceIpv4Cidr"`
	IPFamily        string `json:"ipFamily"`
}

type certificateJSON struct {
	Data string `json:"data"`
}

type accessConfigJSON struct {
	AuthenticationMode string `json:"authenticationMode"`
}

func (s *Service) describeCluster(_ *wire.Call, path []string) (any, error) {
	c, err := s.cluster(path[0])
	if err != nil {
		return nil, err
	}
	return map[string]any{"cluster": clusterJSON{
		Name: c.Name, ARN: s.arn("cluster/" + c.Name), CreatedAt: wire.Time{Time: c.created}, Version: c.Version,
		Endpoint: c.Endpoint,
		RoleARN:  "arn:aws:iam::" + s.config.AccountID + ":role/eks-" + c.Name,
		ResourcesVpcConfig: vpcConfigJSON{
			SubnetIDs: append([]string{}, c.SubnetIDs...), SecurityGroupIDs: []string{},
			ClusterSecurityGroupID: c.SecurityGroupID, VpcID: c.VPCID,
			EndpointPublicAccess: true, PublicAccessCIDRs: []string{"0.0.0.0/0"},
		},
		KubernetesNetworkConfig: networkConfigJSON{c.ServiceCIDR, "ipv4"}, Status: "ACTIVE",
		CertificateAuthority: certificateJSON{base64.StdEncoding.EncodeToString(c.CertificateAuthority)},
		PlatformVersion:      "eks.1", Tags: c.Tags,
		AccessConfig: accessConfigJSON{"API"},
	}}, nil
}
