package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// writeAdminKubeconfig writes a kubeconfig with all rights that depends on no other file.
func writeAdminKubeconfig(path, certificates, endpoint string) error {
	content := map[string][]byte{}
	for _, name := range []string{authorityCertificate, adminCertificate, adminKey} {
		pem, err := os.ReadFile(filepath.Join(certificates, name))
		if err != nil {
			return fmt.Errorf("writing the admin kubeconfig: %w", err)
		}
		content[name] = pem
	}
	return writeKubeconfig(path,
		&api.Cluster{Server: endpoint, CertificateAuthorityData: content[authorityCertificate]},
		&api.AuthInfo{ClientCertificateData: content[adminCertificate], ClientKeyData: content[adminKey]})
}

// writeWebhookKubeconfig writes the file that names kube-apiserver's token webhook:
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#webhook-token-authentication
func writeWebhookKubeconfig(path, url string) error {
	return writeKubeconfig(path, &api.Cluster{Server: url}, &api.AuthInfo{})
}

func writeKubeconfig(path string, cluster *api.Cluster, user *api.AuthInfo) error {
	const name = "whittle-local"
	config := api.NewConfig()
	config.Clusters[name] = cluster
	config.AuthInfos[name] = user
	config.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return fmt.Errorf("writing kubeconfig %q: %w", path, err)
	}
	return nil
}
