package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/karpenter"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/supervisor"
)

const (
	karpenterStack = "Karpenter"
	// KarpenterRole is the beginning of the name of Karpenter's role.
	KarpenterRole = "KarpenterController-"
	// WhittleRole is the beginning of the names of the functions' roles.
	WhittleRole = "Whittle-"
	// settling limits the time until the API server serves Karpenter's definitions.
	settling = 30 * time.Second
)

// KarpenterNodeRole is the node role of Karpenter's guide.
func (w *World) KarpenterNodeRole() (name, arn string) {
	name = "KarpenterNodeRole-" + w.options.Cluster
	return name, "arn:aws:iam::" + AccountID + ":role/" + name
}

// InstallKarpenter creates what Karpenter's guide asks for before the controller runs: the stack
// with its roles and its interruption queue, the custom resource definitions, and the controller's
// rights in the cluster.
func (w *World) InstallKarpenter(ctx context.Context) error {
	if err := w.makeKarpenterStack(ctx); err != nil {
		return fmt.Errorf("making Karpenter's stack: %w", err)
	}
	client, err := scenario.NewClient(w.RESTConfig())
	if err != nil {
		return err
	}
	files, err := karpenter.Definitions(ctx, w.options.Root, w.options.Karpenter)
	if err != nil {
		return err
	}
	for _, file := range append(files, filepath.Join(karpenter.Folder(w.options.Root), "rights.yaml")) {
		if err := client.Apply(ctx, file, nil); err != nil {
			return err
		}
	}
	return scenario.Until(ctx, settling, "Karpenter's definitions to be served",
		func(ctx context.Context) (bool, string, error) {
			for _, resource := range []schema.GroupVersionResource{
				api.NodePoolGVR(), api.NodeClaimGVR(), api.EC2NodeClassGVR(),
			} {
				if _, err := client.Objects.Resource(resource).List(ctx, metav1.ListOptions{}); err != nil {
					return false, "", err
				}
			}
			return true, "", nil
		})
}

func (w *World) makeKarpenterStack(ctx context.Context) error {
	text, err := scenario.Manifest(filepath.Join(karpenter.Folder(w.options.Root), "stack.yaml"), map[string]string{
		"CLUSTER_NAME": w.options.Cluster, "AWS_REGION": Region, "AWS_ACCOUNT": AccountID,
	})
	if err != nil {
		return err
	}
	template, err := yaml.YAMLToJSON([]byte(text)) // which also resolves YAML anchors
	if err != nil {
		return err
	}
	operator := w.identity.Operator()
	client := cloudformation.New(cloudformation.Options{
		Region: Region, BaseEndpoint: aws.String(w.server.URL()),
		Credentials: credentials.NewStaticCredentialsProvider(operator.AccessKeyID, operator.SecretAccessKey, ""),
	})
	_, err = client.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String(karpenterStack), TemplateBody: aws.String(string(template)),
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		return err
	}
	return cloudformation.NewStackCreateCompleteWaiter(client, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
	}).Wait(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(karpenterStack)}, settling)
}

// StartKarpenter runs Karpenter's controller under its own role and service account. The caller
// stops it before closing the world.
func (w *World) StartKarpenter(ctx context.Context) (*supervisor.Process, error) {
	binary, err := karpenter.Build(ctx, w.options.Root, w.options.Karpenter, w.options.Progress)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := w.karpenterKubeconfig(ctx)
	if err != nil {
		return nil, err
	}
	session, err := w.identity.Session("arn:aws:iam::"+AccountID+":role/"+KarpenterRole+w.options.Cluster, "karpenter")
	if err != nil {
		return nil, err
	}
	running := karpenter.Start(karpenter.Options{
		Binary: binary, Log: filepath.Join(w.options.Directory, "karpenter.log"), Cluster: w.options.Cluster,
		Kubeconfig: kubeconfig,
		Queue:      "karpenter-" + w.options.Cluster,
		AWS: []string{
			"AWS_ENDPOINT_URL=" + w.server.URL(), "AWS_REGION=" + Region, "AWS_EC2_METADATA_DISABLED=true",
			"AWS_ACCESS_KEY_ID=" + session.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + session.SecretAccessKey,
			"AWS_SESSION_TOKEN=" + session.SessionToken,
		},
	})
	return running, nil
}

// karpenterKubeconfig writes a kubeconfig with a token of Karpenter's service account.
func (w *World) karpenterKubeconfig(ctx context.Context) (string, error) {
	client, err := scenario.NewClient(w.RESTConfig())
	if err != nil {
		return "", err
	}
	day := int64(24 * time.Hour / time.Second)
	token, err := client.Core.CoreV1().ServiceAccounts(karpenter.Namespace).CreateToken(ctx, karpenter.Account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &day}},
		metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("making a token for Karpenter: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["local"] = &clientcmdapi.Cluster{
		Server: w.ControlPlane.Endpoint, CertificateAuthorityData: w.ControlPlane.CertificateAuthority,
	}
	config.AuthInfos["karpenter"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["local"] = &clientcmdapi.Context{Cluster: "local", AuthInfo: "karpenter"}
	config.CurrentContext = "local"
	file := filepath.Join(w.options.Directory, "karpenter.kubeconfig")
	return file, errors.Join(clientcmd.WriteToFile(*config, file), os.Chmod(file, 0o600))
}
