package legacy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Input is old objects of some files, in their order. Taken reports whether a name belongs to an
// EC2NodeClass of v1; nil means no name does.
type Input struct {
	Provisioners []Provisioner
	Templates    []AWSNodeTemplate
	NodePools    []NodePool
	NodeClasses  []EC2NodeClass
	NodeClaims   []NodeClaim
	Taken        func(class string) bool `json:"-"`
}

// Output is one object of v1 and where it comes from. Exactly one of Pool, Class and Claim is set.
type Output struct {
	// Kind and Name identify the old object.
	Kind, Name string
	Pool       *api.NodePool
	Class      *api.EC2NodeClass
	Claim      *api.NodeClaim
	Changes    []Change
}

// Convert converts all objects, in their order: classes, pools and claims of each kind. Pools with
// the same template or class and equal kubelet settings share a class. The first variant keeps the
// name; that without kubelet settings comes first. Inline providers get a class of their own.
func Convert(old Input, settings Settings) []Output {
	f := &files{old: old, settings: settings, named: map[string]bool{}}
	for i := range old.Templates {
		f.named[old.Templates[i].Name] = true
	}
	for i := range old.NodeClasses {
		f.named[old.NodeClasses[i].Name] = true
	}
	f.convertTemplates()
	f.convertClasses()
	f.convertProvisioners()
	f.convertPools()
	for i := range old.NodeClaims {
		claim, list := claimOf(&old.NodeClaims[i])
		f.outputs = append(f.outputs, Output{
			Kind: api.NodeClaimKind, Name: old.NodeClaims[i].Name, Claim: claim, Changes: list,
		})
	}
	return f.outputs
}

// files converts the objects of some files.
type files struct {
	old      Input
	settings Settings
	named    map[string]bool // names of classes that are given away
	classes  map[string]string
	outputs  []Output
}

// user is a Provisioner or a pool that names a template or class.
type user struct {
	name    string
	kubelet *KubeletConfiguration
}

// variant is a class with the kubelet settings of its users.
type variant struct {
	class string
	users []user
}

// variantsOf groups the users of a template or class by their kubelet settings.
func (f *files) variantsOf(name string, users []user) []variant {
	if len(users) == 0 {
		return []variant{{class: name, users: []user{{}}}}
	}
	slices.SortStableFunc(users, func(a, b user) int {
		switch {
		case (a.kubelet == nil) != (b.kubelet == nil) && a.kubelet == nil:
			return -1
		case (a.kubelet == nil) != (b.kubelet == nil):
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	var variants []variant
	byText := map[string]int{}
	for _, user := range users {
		text := textOf(user.kubelet)
		at, known := byText[text]
		if !known {
			at = len(variants)
			byText[text] = at
			class := name
			if at > 0 {
				class = f.unique(name + "-" + user.name)
			}
			variants = append(variants, variant{class: class})
		}
		variants[at].users = append(variants[at].users, user)
	}
	return variants
}

// textOf returns equal texts for equal settings.
func textOf(kubelet *KubeletConfiguration) string {
	text, err := json.Marshal(kubelet)
	if err != nil {
		return fmt.Sprintf("%+v", kubelet)
	}
	return string(text)
}

// unique returns the name, with a number if it belongs to another class.
func (f *files) unique(name string) string {
	free := name
	for n := 2; f.named[free] || f.old.Taken != nil && f.old.Taken(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	f.named[free] = true
	return free
}

// remember remembers the class of each user.
func (f *files) remember(kind string, v variant) {
	if f.classes == nil {
		f.classes = map[string]string{}
	}
	for _, user := range v.users {
		f.classes[kind+" "+user.name] = v.class
	}
}

func (f *files) convertTemplates() {
	for i := range f.old.Templates {
		template := &f.old.Templates[i]
		var users []user
		for j := range f.old.Provisioners {
			p := &f.old.Provisioners[j]
			if p.Spec.Provider == nil && p.Spec.ProviderRef != nil && p.Spec.ProviderRef.Name == template.Name {
				users = append(users, user{p.Name, p.Spec.KubeletConfiguration})
			}
		}
		for _, v := range f.variantsOf(template.Name, users) {
			f.remember(ProvisionerKind, v)
			class, list := classOf(templateSource(template), v.class, v.users[0].name, v.users[0].kubelet, f.settings)
			f.outputs = append(f.outputs, Output{
				Kind: AWSNodeTemplateKind, Name: template.Name, Class: class, Changes: list,
			})
		}
	}
}

func (f *files) convertClasses() {
	for i := range f.old.NodeClasses {
		class := &f.old.NodeClasses[i]
		var users []user
		for j := range f.old.NodePools {
			pool := &f.old.NodePools[j]
			if ref := classRef(pool.Spec.Template.Spec.NodeClassRef); ref.IsEC2NodeClass() && ref.Name == class.Name {
				users = append(users, user{pool.Name, pool.Spec.Template.Spec.Kubelet})
			}
		}
		for _, v := range f.variantsOf(class.Name, users) {
			f.remember(api.NodePoolKind, v)
			converted, list := betaClassOf(class, v.class, v.users[0].name, v.users[0].kubelet, f.settings)
			f.outputs = append(f.outputs, Output{
				Kind: api.EC2NodeClassKind, Name: class.Name, Class: converted, Changes: list,
			})
		}
	}
}

func (f *files) convertProvisioners() {
	for i := range f.old.Provisioners {
		p := &f.old.Provisioners[i]
		name := p.Name
		switch {
		case p.Spec.Provider != nil:
			name = f.unique(p.Name)
			if s, unread := inlineSource(p); s.spec == nil {
				f.outputs = append(f.outputs, Output{Kind: ProvisionerKind, Name: p.Name, Changes: unread})
			} else {
				class, list := classOf(s, name, p.Name, p.Spec.KubeletConfiguration, f.settings)
				f.outputs = append(f.outputs, Output{Kind: ProvisionerKind, Name: p.Name, Class: class, Changes: list})
			}
		case p.Spec.ProviderRef != nil:
			name = f.classes[ProvisionerKind+" "+p.Name]
			if name == "" {
				name = p.Spec.ProviderRef.Name
			}
		}
		pool, list := poolOf(p, name)
		if p.Spec.ProviderRef != nil && p.Spec.KubeletConfiguration != nil &&
			f.classes[ProvisionerKind+" "+p.Name] == "" {
			list = append(list, kubeletNeedsClass(ProvisionerKind, p.Name, kubeletField))
		}
		f.outputs = append(f.outputs, Output{Kind: ProvisionerKind, Name: p.Name, Pool: pool, Changes: list})
	}
}

func (f *files) convertPools() {
	for i := range f.old.NodePools {
		old := &f.old.NodePools[i]
		pool, list := betaPoolOf(old)
		if class := f.classes[api.NodePoolKind+" "+old.Name]; class != "" {
			pool.Spec.Template.Spec.NodeClassRef.Name = class
		} else if old.Spec.Template.Spec.Kubelet != nil {
			list = append(list, kubeletNeedsClass(api.NodePoolKind, old.Name, betaKubeletField))
		}
		f.outputs = append(f.outputs, Output{Kind: api.NodePoolKind, Name: old.Name, Pool: pool, Changes: list})
	}
}

// kubeletNeedsClass says that kubelet settings have no place, because their class is in no file.
func kubeletNeedsClass(kind, name, field string) Change {
	return Change{
		Kind: kind, Name: name, Field: field, Target: "spec.template.spec.nodeClassRef", Level: Lost,
		Text:   "v1 has the settings of the kubelet in the EC2NodeClass, which is not among the files",
		Remedy: "add the file with the template or class",
	}
}
