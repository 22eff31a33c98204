package nodeclass

import (
	"encoding/base64"
	"errors"
	"strings"
)

const (
	powershellBegin = "<powershell>"
	powershellEnd   = "</powershell>"
)

// windows writes one PowerShell script with the user's lines first and the script that joins the
// cluster last. EC2Launch runs one such element of user data.
// https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-windows-ami.html
func windows(s settings, own string) (string, error) {
	own, err := powershell(own)
	if err != nil {
		return "", err
	}
	lines := []string{powershellBegin}
	if own != "" {
		lines = append(lines, own)
	}
	words := []string{
		"& $EKSBootstrapScriptFile",
		"-EKSClusterName " + powershellWord(s.cluster.Name),
		"-APIServerEndpoint " + powershellWord(s.cluster.Endpoint),
		"-Base64ClusterCA " + powershellWord(base64.StdEncoding.EncodeToString(s.cluster.CertificateAuthority)),
		"-KubeletExtraArgs " + powershellWord(kubeletFlags(s)),
	}
	if len(s.kubelet.ClusterDNS) > 0 {
		words = append(words, "-DNSClusterIP "+powershellWord(s.kubelet.ClusterDNS[0]))
	}
	lines = append(lines,
		`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"`,
		strings.Join(words, " "),
		powershellEnd)
	return strings.Join(lines, "\n") + "\n", nil
}

// powershell returns the lines of the user's script, with or without the element around it.
func powershell(own string) (string, error) {
	own = strings.TrimSpace(own)
	if inner, found := strings.CutPrefix(own, powershellBegin); found {
		inner, closed := strings.CutSuffix(inner, powershellEnd)
		if !closed {
			return "", errors.New("begins with <powershell> and does not end with </powershell>: write the lines alone, or both")
		}
		own = strings.TrimSpace(inner)
	}
	for _, element := range []string{powershellBegin, powershellEnd, "<script>", "<persist>"} {
		if strings.Contains(own, element) {
			return "", errors.New(
				"has the element " + element + " inside of a PowerShell script: write the lines of one script alone",
			)
		}
	}
	return own, nil
}

// powershellWord quotes a word for PowerShell.
func powershellWord(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
