package nodeclass

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
)

// boundary separates the parts of the multipart user data. nodeadm and
// cloud-init take any; this is the one that AWS's own examples use.
const boundary = "//"

const (
	nodeConfigType = "application/node.eks.aws"
	scriptType     = "text/x-shellscript"
)

// Cluster is what a node must know to join.
type Cluster struct {
	Name                 string
	Endpoint             string
	CertificateAuthority []byte // PEM
	ServiceCIDR          string
	DNS                  string // kube-dns's address; empty leaves it to the node
}

// Join is how one pool's nodes join.
type Join struct {
	Cluster Cluster
	Labels  map[string]string
	Taints  []corev1.Taint // in the node's first registration
}

// UserData writes the user data of the class's nodes, not yet in base64.
func UserData(class *api.EC2NodeClass, join Join) (string, error) {
	own := ""
	if class.Spec.UserData != nil {
		own = *class.Spec.UserData
	}
	switch family := class.AMIFamily(); family {
	case api.AMIFamilyCustom:
		return own, nil
	case api.AMIFamilyAL2023:
		data, err := al2023(class, join, own)
		if err != nil {
			return "", fmt.Errorf("ec2nodeclass %q: spec.userData: %w", class.Name, err)
		}
		return data, nil
	default:
		return "", fmt.Errorf("ec2nodeclass %q: spec.amiFamily %q is not supported yet: use AL2023 or Custom", class.Name, family)
	}
}

// al2023 puts the user's own parts first and the cluster's NodeConfig last:
// nodeadm merges them in order, so that the cluster's wins.
func al2023(class *api.EC2NodeClass, join Join, own string) (string, error) {
	config, err := nodeConfig(class, join)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=%q\r\n\r\n", boundary)
	parts := multipart.NewWriter(&text)
	if err := parts.SetBoundary(boundary); err != nil {
		return "", err
	}
	if err := copyOwn(parts, own); err != nil {
		return "", err
	}
	if err := writePart(parts, nodeConfigType, config); err != nil {
		return "", err
	}
	if err := parts.Close(); err != nil {
		return "", err
	}
	return text.String(), nil
}

// copyOwn writes the user's own user data as parts: those of a MIME document as
// they are, a NodeConfig as one, anything else as a shell script.
func copyOwn(parts *multipart.Writer, own string) error {
	if strings.TrimSpace(own) == "" {
		return nil
	}
	message, err := mail.ReadMessage(strings.NewReader(own))
	if err == nil && message.Header.Get("MIME-Version") != "" {
		kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
		if err != nil || !strings.HasPrefix(kind, "multipart/") {
			return fmt.Errorf("is MIME, but its Content-Type %q is not multipart", message.Header.Get("Content-Type"))
		}
		reader := multipart.NewReader(message.Body, parameters["boundary"])
		for {
			part, err := reader.NextRawPart()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("is not well-formed MIME: %w", err)
			}
			writer, err := parts.CreatePart(part.Header)
			if err != nil {
				return err
			}
			if _, err := io.Copy(writer, part); err != nil {
				return fmt.Errorf("is not well-formed MIME: %w", err)
			}
		}
	}
	var config struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if yaml.Unmarshal([]byte(own), &config) == nil && config.Kind == "NodeConfig" {
		return writePart(parts, nodeConfigType, []byte(own))
	}
	return writePart(parts, scriptType, []byte(own))
}

func writePart(parts *multipart.Writer, contentType string, body []byte) error {
	header := textproto.MIMEHeader{"Content-Type": []string{contentType + "; charset=\"us-ascii\""}}
	if contentType == nodeConfigType {
		header.Set("Content-Type", contentType)
	}
	writer, err := parts.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = writer.Write(body)
	return err
}

// nodeConfig is nodeadm's configuration (node.eks.aws/v1alpha1). maxPods and
// kubeReserved are written only where the class sets them: nodeadm computes both
// for the instance type by the formulas that the planner uses, so that one
// launch template serves all types.
func nodeConfig(class *api.EC2NodeClass, join Join) ([]byte, error) {
	kubelet, err := kubeletSettings(class, join)
	if err != nil {
		return nil, err
	}
	spec := map[string]any{
		"cluster": map[string]any{
			"name":                 join.Cluster.Name,
			"apiServerEndpoint":    join.Cluster.Endpoint,
			"certificateAuthority": base64.StdEncoding.EncodeToString(join.Cluster.CertificateAuthority),
			"cidr":                 join.Cluster.ServiceCIDR,
		},
		"kubelet": map[string]any{
			"config": kubelet,
			"flags":  []string{"--node-labels=" + joinLabels(join.Labels)},
		},
	}
	if policy := class.Spec.InstanceStorePolicy; policy != nil && *policy == api.InstanceStorePolicyRAID0 {
		spec["instance"] = map[string]any{"localStorage": map[string]any{"strategy": "RAID0"}}
	}
	return yaml.Marshal(map[string]any{"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec})
}

// kubeletSettings are spec.kubelet's with those that Whittle owns.
func kubeletSettings(class *api.EC2NodeClass, join Join) (map[string]any, error) {
	settings := map[string]any{}
	if class.Spec.Kubelet != nil {
		encoded, err := json.Marshal(class.Spec.Kubelet)
		if err != nil {
			return nil, fmt.Errorf("encoding spec.kubelet: %w", err)
		}
		if err := json.Unmarshal(encoded, &settings); err != nil {
			return nil, fmt.Errorf("encoding spec.kubelet: %w", err)
		}
	}
	if _, set := settings["clusterDNS"]; !set && join.Cluster.DNS != "" {
		settings["clusterDNS"] = []string{join.Cluster.DNS}
	}
	if len(join.Taints) > 0 {
		settings["registerWithTaints"] = join.Taints
	}
	return settings, nil
}

// joinLabels writes labels as kubelet's flag takes them. The API server refuses
// a node that gives itself labels of Kubernetes' own domains; those are set when
// the node registers.
func joinLabels(labels map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		domain, _, _ := strings.Cut(key, "/")
		if domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") || domain == "k8s.io" || strings.HasSuffix(domain, ".k8s.io") {
			continue
		}
		pairs = append(pairs, key+"="+labels[key])
	}
	return strings.Join(pairs, ",")
}
