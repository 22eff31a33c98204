package api

import (
	"strings"
)

// Values of an EC2NodeClass's amiFamily.
const (
	AMIFamilyAL2          = "AL2"
	AMIFamilyAL2023       = "AL2023"
	AMIFamilyBottlerocket = "Bottlerocket"
	AMIFamilyCustom       = "Custom"
	AMIFamilyWindows2019  = "Windows2019"
	AMIFamilyWindows2022  = "Windows2022"
	AMIFamilyWindows2025  = "Windows2025"
)

// Values of the label node.kubernetes.io/windows-build.
const (
	Windows2019Build = "10.0.17763"
	Windows2022Build = "10.0.20348"
	Windows2025Build = "10.0.26100"
)

// AliasVersionLatest is the version of an alias that follows each new release.
const AliasVersionLatest = "latest"

// Alias is a parsed AMI alias.
//
// +kubebuilder:object:generate=false
type Alias struct {
	// Family is the AMI family as amiFamily writes it.
	Family string
	// Version is the release, or AliasVersionLatest.
	Version string
}

// ParseAlias parses an alias such as al2023@latest. It returns false for a text that does not have
// the form family@version, or whose family is unknown.
func ParseAlias(text string) (Alias, bool) {
	family, version, ok := strings.Cut(text, "@")
	if !ok || version == "" {
		return Alias{}, false
	}
	for _, known := range aliasFamilies() {
		if strings.ToLower(known) == family {
			return Alias{Family: known, Version: version}, true
		}
	}
	return Alias{}, false
}

// Alias returns the alias by which the class selects its images, and false where it selects them by
// other terms.
func (c *EC2NodeClass) Alias() (Alias, bool) {
	for _, term := range c.Spec.AMISelectorTerms {
		if term.Alias != "" {
			return ParseAlias(term.Alias)
		}
	}
	return Alias{}, false
}

// AMIFamily returns the family that determines the format of the user data: amiFamily where it is
// set, else the alias's family. It is empty where the class has neither, which Validate reports.
func (c *EC2NodeClass) AMIFamily() string {
	if c.Spec.AMIFamily != nil {
		return *c.Spec.AMIFamily
	}
	alias, _ := c.Alias()
	return alias.Family
}

// aliasFamilies returns the AMI families that an alias can name. An alias writes them in lower
// case.
func aliasFamilies() []string {
	return []string{
		AMIFamilyAL2, AMIFamilyAL2023, AMIFamilyBottlerocket,
		AMIFamilyWindows2019, AMIFamilyWindows2022, AMIFamilyWindows2025,
	}
}

// amiFamilies returns the possible values of amiFamily.
func amiFamilies() []string {
	return append(aliasFamilies(), AMIFamilyCustom)
}
