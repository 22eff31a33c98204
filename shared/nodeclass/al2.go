package nodeclass

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// al2 writes the user's parts first and the script that joins the cluster last, because cloud-init
// runs them in order.
// https://github.com/awslabs/amazon-eks-ami/blob/main/templates/al2/runtime/bootstrap.sh
func al2(s settings, own string) (string, error) {
	return document(userParts{
		typeOf: func(string) string { return scriptType },
		check:  func(string, []byte) error { return nil },
	}, own, scriptType, []byte(bootstrapScript(s)))
}

// bootstrapScript calls the image's script. That script computes maxPods from the instance type,
// unless a flag disables it.
func bootstrapScript(s settings) string {
	words := []string{
		"/etc/eks/bootstrap.sh", shellWord(s.cluster.Name),
		"--apiserver-endpoint", shellWord(s.cluster.Endpoint),
		"--b64-cluster-ca", shellWord(base64.StdEncoding.EncodeToString(s.cluster.CertificateAuthority)),
	}
	if s.cluster.IPv6() {
		words = append(words, "--ip-family", "ipv6", "--service-ipv6-cidr", shellWord(s.cluster.ServiceCIDR))
	}
	if len(s.kubelet.ClusterDNS) > 0 {
		words = append(words, "--dns-cluster-ip", shellWord(s.kubelet.ClusterDNS[0]))
	}
	if s.kubelet.MaxPods != nil {
		words = append(words, "--use-max-pods", "false")
	}
	if s.raid0 {
		words = append(words, "--local-disks", "raid0")
	}
	words = append(words, "--kubelet-extra-args", shellWord(kubeletFlags(s)))
	return fmt.Sprintf(
		"#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n%s\n",
		strings.Join(words, " "),
	)
}

// shellWord quotes a word for a shell.
func shellWord(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
