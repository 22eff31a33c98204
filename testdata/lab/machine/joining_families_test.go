package machine_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// otherAuthority is a certificate authority that signed nothing here.
func otherAuthority(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "other"}, NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

func (r *region) everyFamilyJoins(t *testing.T) {
	authority := base64.StdEncoding.EncodeToString(r.cluster.CertificateAuthority)
	arguments := `--node-labels="karpenter.sh/nodepool=default" ` +
		`--register-with-taints="karpenter.sh/unregistered:NoExecute" --max-pods=17`
	windows := fmt.Sprintf("<powershell>\n[string]$EKSBootstrapScriptFile = "+
		"\"$env:ProgramFiles\\Amazon\\EKS\\Start-EKSBootstrap.ps1\"\n"+
		"& $EKSBootstrapScriptFile -EKSClusterName '%s' -APIServerEndpoint '%s' -Base64ClusterCA '%s' -KubeletExtraArgs "+
		"'%s'\n</powershell>", clusterName, r.cluster.Endpoint, authority, arguments)
	bottlerocket := fmt.Sprintf("[settings.kubernetes]\ncluster-name = %q\napi-server = %q\ncluster-certificate = "+
		"%q\nmax-pods = 17\n"+
		"[settings.kubernetes.node-labels]\n\"karpenter.sh/nodepool\" = "+
		"\"default\"\n[settings.kubernetes.node-taints]\n\"karpenter.sh/unregistered\" = [\":NoExecute\"]\n",
		clusterName, r.cluster.Endpoint, authority)
	for _, c := range []struct{ name, parameter, instanceType, userData, system, build, disk string }{
		{"AL2", "/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id", "m5.large", fmt.Sprintf(
			"#!/bin/bash -xe\n/etc/eks/bootstrap.sh '%s' --apiserver-endpoint '%s' --b64-cluster-ca '%s' \\\n--use-max-pods "+
				"false \\\n--kubelet-extra-args '%s'\n",
			clusterName, r.cluster.Endpoint, authority, arguments), "linux", "", "20Gi"},
		{
			"Bottlerocket", "/aws/service/bottlerocket/aws-k8s-1.36/arm64/latest/image_id", "m6g.large", bottlerocket, "linux",
			"", "20Gi",
		},
		{
			"Bottlerocket with GPUs", "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/x86_64/latest/image_id", "g5.xlarge",
			bottlerocket, "linux", "", "20Gi",
		},
		{
			"Windows 2019", "/aws/service/ami-windows-latest/Windows_Server-2019-English-Core-EKS_Optimized-1.36/image_id",
			"m5.large", windows, "windows", "10.0.17763", "50Gi",
		},
		{
			"Windows 2022", "/aws/service/ami-windows-latest/Windows_Server-2022-English-Core-EKS_Optimized-1.36/image_id",
			"m5.large", windows, "windows", "10.0.20348", "50Gi",
		},
		{
			"Windows 2025", "/aws/service/ami-windows-latest/Windows_Server-2025-English-Core-EKS_Optimized-1.36/image_id",
			"m5.large", windows, "windows", "10.0.26100", "50Gi",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			id, name := r.launchImage(t, r.published[c.parameter], c.instanceType, c.userData)
			var node *corev1.Node
			r.eventually(t, id, "the node is ready", func(ctx context.Context) bool {
				var err error
				node, err = r.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
				return err == nil && isReady(node)
			})
			pods, disk := node.Status.Capacity[corev1.ResourcePods], node.Status.Capacity[corev1.ResourceEphemeralStorage]
			if pods.Value() != 17 || disk.String() != c.disk || !hasTaint(node, "karpenter.sh/unregistered") ||
				node.Labels["karpenter.sh/nodepool"] != "default" {
				t.Errorf("pods %s, disk %s, taints %v, labels %v", pods.String(), disk.String(), node.Spec.Taints, node.Labels)
			}
			if node.Labels[corev1.LabelOSStable] != c.system || node.Labels[corev1.LabelWindowsBuild] != c.build ||
				node.Status.NodeInfo.OperatingSystem != c.system {
				t.Errorf("the node runs %+v and has the labels %v", node.Status.NodeInfo, node.Labels)
			}
			if err := r.service.Terminate(id); err != nil {
				t.Error(err)
			}
		})
	}
}
