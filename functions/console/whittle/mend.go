package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// missingPlugin finds the program that a kubeconfig's user names and the machine lacks.
var missingPlugin = regexp.MustCompile(`exec: executable (\S+) not found`)

// mend makes one line of an error of the API server, with what a person can do.
func mend(err error, endpoint cluster.Endpoint) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	text := oneLine(err)
	if remedy := remedyFor(err, text, endpoint); remedy != "" {
		return fmt.Errorf("%s (%s)", remedy, printable.Short(text, maximumCause))
	}
	return err
}

// remedyFor says what is wrong with the way to the API server; empty for errors of other kinds.
func remedyFor(err error, text string, endpoint cluster.Endpoint) string {
	where := fmt.Sprintf("the cluster of context %q at %s", endpoint.Name, endpoint.URL)
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var unverified *tls.CertificateVerificationError
	var lookup *net.DNSError
	var network net.Error
	if plugin := missingPlugin.FindStringSubmatch(text); plugin != nil {
		return fmt.Sprintf("the kubeconfig's user of context %q signs in with %q, which is not installed: install it, or "+
			"choose another context", endpoint.Name, plugin[1])
	}
	switch {
	case strings.Contains(text, "getting credentials: exec"):
		return fmt.Sprintf("the program with which context %q signs in has failed: run it by hand, and sign in again",
			endpoint.Name)
	case apierrors.IsUnauthorized(err):
		return fmt.Sprintf("the cluster does not know the credentials of context %q: sign in again, or choose another "+
			"context", endpoint.Name)
	case apierrors.IsForbidden(err):
		return "the cluster forbids it: ask the cluster's administrator for the right to get and list this, as with the " +
			"ClusterRoles view and whittle:planner"
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid), errors.As(err, &unverified):
		return fmt.Sprintf("the certificate of %s is not the one that the kubeconfig expects: write the kubeconfig anew, as "+
			"with `aws eks update-kubeconfig`", where)
	case errors.As(err, &lookup):
		return fmt.Sprintf("nothing has the address of %s: does the cluster still exist, and is the network up?", where)
	case errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("%s answers slowly, or not at all: wait longer with -request-timeout 2m, and check that it is "+
			"reachable from here", where)
	case errors.As(err, &network):
		return fmt.Sprintf("%s does not answer: is it running, and reachable from here?", where)
	}
	return ""
}

// maximumCause bounds the part of a message that others wrote.
const maximumCause = 300
