package api

// SubnetSelectorTerm selects subnets by all of its tags, or one subnet by its id.
type SubnetSelectorTerm struct {
	// Tags of the subnet. The value * matches any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != '' && self[key] != '')",message="a tag needs a key and a value: write * for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The subnet's id.
	// +kubebuilder:validation:Pattern=`^subnet-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm selects security groups by all of its tags, or by id or
// name.
type SecurityGroupSelectorTerm struct {
	// Tags of the group. The value * matches any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != '' && self[key] != '')",message="a tag needs a key and a value: write * for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The group's id.
	// +kubebuilder:validation:Pattern=`^sg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// The group's name. It differs from the value of its tag Name.
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm selects capacity reservations by all of its fields.
type CapacityReservationSelectorTerm struct {
	// Tags of the reservation. The value * matches any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != '' && self[key] != '')",message="a tag needs a key and a value: write * for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The reservation's id.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// The account that the reservation belongs to.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// The instances that use the reservation: any matching instance (open), or only instances that
	// name it (targeted).
	// +kubebuilder:validation:Enum=open;targeted
	// +optional
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroupSelector selects one placement group, by name or by id.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) != has(self.id)",message="placementGroupSelector needs exactly one of name and id"
type PlacementGroupSelector struct {
	// The group's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Name string `json:"name,omitempty"`
	// The group's id.
	// +kubebuilder:validation:Pattern=`^pg-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
}

// AMISelectorTerm selects machine images.
type AMISelectorTerm struct {
	// An operating system and its release for EKS, such as al2023@latest or bottlerocket@v1.20.0.
	// An alias is the only field of its term, and its term is the only one of the list.
	// +kubebuilder:validation:MaxLength=30
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]+@.+$')",message="alias must be family@version, such as al2023@latest"
	// +kubebuilder:validation:XValidation:rule="self.split('@')[0] in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']",message="the family of an alias must be one of al2, al2023, bottlerocket, windows2019, windows2022 and windows2025"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('windows') || self.split('@')[1] == 'latest'",message="the version of a Windows alias must be latest"
	Alias string `json:"alias,omitempty"`
	// Tags of the image. The value * matches any value.
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(key, key != '' && self[key] != '')",message="a tag needs a key and a value: write * for any value"
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// The image's id.
	// +kubebuilder:validation:Pattern=`^ami-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// The image's name. A * in it matches any text.
	// +optional
	Name string `json:"name,omitempty"`
	// The account that the image belongs to, self or amazon. Without an owner, a name or tags
	// select images of self and amazon.
	// +optional
	Owner string `json:"owner,omitempty"`
	// The name or ARN of an SSM parameter whose value is an image's id.
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
