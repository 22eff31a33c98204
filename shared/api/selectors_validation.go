package api

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	maxSelectorTerms = 30
	maxSelectorTags  = 20
	maxAliasLength   = 30
)

var accountID = regexp.MustCompile(`^[0-9]{12}$`)

// A term that mixes an id with another field selects what matches all of it. Karpenter's schemas
// refuse a list only when each of its terms does so, and so does this validation.

func (f *findings) validateSubnetTerms(path string, terms []SubnetSelectorTerm) {
	f.validateTermCount(path, len(terms), 1)
	mixed := 0
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.validateSelectorTags(at+".tags", t.Tags)
		f.validateID(at+".id", t.ID, "subnet-")
		if t.Tags == nil && t.ID == "" {
			f.addField(at, "selects nothing: set tags or id")
		}
		if t.ID != "" && t.Tags != nil {
			mixed++
		}
	}
	if mixed > 0 && mixed == len(terms) {
		f.addField(path, "has id and tags in the same term: make two terms of it")
	}
}

func (f *findings) validateSecurityGroupTerms(path string, terms []SecurityGroupSelectorTerm) {
	f.validateTermCount(path, len(terms), 1)
	mixedID, mixedName := 0, 0
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.validateSelectorTags(at+".tags", t.Tags)
		f.validateID(at+".id", t.ID, "sg-")
		if t.Tags == nil && t.ID == "" && t.Name == "" {
			f.addField(at, "selects nothing: set tags, id or name")
		}
		if t.ID != "" && (t.Tags != nil || t.Name != "") {
			mixedID++
		}
		if t.Name != "" && (t.Tags != nil || t.ID != "") {
			mixedName++
		}
	}
	if n := max(mixedID, mixedName); n > 0 && n == len(terms) {
		f.addField(path, "has id or name together with something else in the same term: make two terms of it")
	}
}

func (f *findings) validateCapacityReservationTerms(path string, terms []CapacityReservationSelectorTerm) {
	f.validateTermCount(path, len(terms), 0)
	mixed := 0
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.validateSelectorTags(at+".tags", t.Tags)
		f.validateID(at+".id", t.ID, "cr-")
		if t.Tags == nil && t.ID == "" && t.InstanceMatchCriteria == "" {
			f.addField(at, "selects nothing: set tags, id or instanceMatchCriteria")
		}
		if t.OwnerID != "" && !accountID.MatchString(t.OwnerID) {
			f.add(at+".ownerID", t.OwnerID, "is not an account: write its 12 digits")
		}
		if t.InstanceMatchCriteria != "" {
			f.validateChoice(at+".instanceMatchCriteria", &t.InstanceMatchCriteria, "open", "targeted")
		}
		if t.ID != "" && (t.Tags != nil || t.OwnerID != "" || t.InstanceMatchCriteria != "") {
			mixed++
		}
	}
	if mixed > 0 && mixed == len(terms) {
		f.addField(path, "has id together with something else in the same term: make two terms of it")
	}
}

func (f *findings) validatePlacementGroup(path string, s *PlacementGroupSelector) {
	if s == nil {
		return
	}
	f.validateID(path+".id", s.ID, "pg-")
	switch {
	case s.Name == "" && s.ID == "":
		f.addField(path, "selects nothing: set name or id")
	case s.Name != "" && s.ID != "":
		f.addField(path, "has both name %q and id %q: remove one of them", s.Name, s.ID)
	}
}

func (f *findings) validateAMITerms(path string, terms []AMISelectorTerm) {
	f.validateTermCount(path, len(terms), 1)
	for i, t := range terms {
		at := fmt.Sprintf("%s[%d]", path, i)
		f.validateSelectorTags(at+".tags", t.Tags)
		f.validateID(at+".id", t.ID, "ami-")
		if t.Alias == "" && t.Tags == nil && t.ID == "" && t.Name == "" && t.SSMParameter == "" {
			f.addField(at, "selects nothing: set alias, id, name, tags or ssmParameter")
		}
		if t.ID != "" && (t.Alias != "" || t.Tags != nil || t.Name != "" || t.Owner != "") {
			f.add(at+".id", t.ID, "cannot be together with alias, tags, name or owner: make two terms of it")
		}
		if t.Alias != "" {
			f.validateAlias(at+".alias", t, len(terms))
		}
	}
}

func (f *findings) validateAlias(path string, t AMISelectorTerm, terms int) {
	alias, ok := ParseAlias(t.Alias)
	switch {
	case !ok:
		families := strings.ToLower(join(aliasFamilies()))
		f.choose(path, t.Alias, strings.Split(families, ", "),
			"is not an alias: write family@version with one of the families %s", families)
	case len(t.Alias) > maxAliasLength:
		f.add(path, t.Alias, "is longer than %d characters: write family@version", maxAliasLength)
	case strings.HasPrefix(alias.Family, "Windows") && alias.Version != AliasVersionLatest:
		f.add(path, t.Alias, "has a version that Windows does not have: write %s@%s",
			strings.ToLower(alias.Family), AliasVersionLatest)
	}
	if t.ID != "" || t.Tags != nil || t.Name != "" || t.Owner != "" || t.SSMParameter != "" {
		f.add(path, t.Alias, "cannot be together with other fields of its term: remove them")
	}
	if terms > 1 {
		f.add(path, t.Alias, "cannot be together with other terms: remove them")
	}
}

func (f *findings) validateTermCount(path string, count, least int) {
	if count < least {
		f.addField(path, "is empty: add a term")
	}
	if count > maxSelectorTerms {
		f.addField(path, "has %d terms: remove all but %d", count, maxSelectorTerms)
	}
}

func (f *findings) validateSelectorTags(path string, tags map[string]string) {
	if len(tags) > maxSelectorTags {
		f.addField(path, "has %d tags: remove all but %d", len(tags), maxSelectorTags)
	}
	for _, key := range sortedKeys(tags) {
		if key == "" {
			f.addField(path, "has an empty key: a tag needs a key")
		} else if tags[key] == "" {
			f.addField(fmt.Sprintf("%s[%s]", path, key), "is empty: write a value, or * for any")
		}
	}
}

// validateID checks the format of an EC2 id that is set: the prefix, then digits and small letters.
func (f *findings) validateID(path, id, prefix string) {
	if id == "" {
		return
	}
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok || rest == "" || strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		f.add(path, id, "is not an id: ids begin with %s, and go on with digits and small letters", prefix)
	}
}
