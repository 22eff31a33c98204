package ec2

// securityGroups are the template's groups, wherever it names them.
func (d *launchTemplateData) securityGroups() []string {
	groups := append(append([]string{}, d.SecurityGroupIDs...), d.SecurityGroups...)
	for _, n := range d.NetworkInterfaces {
		groups = append(groups, n.Groups...)
	}
	return groups
}

// overlaid is the data with a call's values in place of the template's.
func (d launchTemplateData) overlaid(over launchTemplateData) launchTemplateData {
	setText(&d.ImageID, over.ImageID)
	setText(&d.InstanceType, over.InstanceType)
	setText(&d.KeyName, over.KeyName)
	setText(&d.UserData, over.UserData)
	setText(&d.InitiatedShutdownBehavior, over.InitiatedShutdownBehavior)
	setPointer(&d.EbsOptimized, over.EbsOptimized)
	setPointer(&d.IamInstanceProfile, over.IamInstanceProfile)
	setPointer(&d.Monitoring, over.Monitoring)
	setPointer(&d.Placement, over.Placement)
	setPointer(&d.MetadataOptions, over.MetadataOptions)
	setPointer(&d.CPUOptions, over.CPUOptions)
	setPointer(&d.CreditSpecification, over.CreditSpecification)
	setPointer(&d.CapacityReservationSpecification, over.CapacityReservationSpecification)
	setPointer(&d.InstanceMarketOptions, over.InstanceMarketOptions)
	setPointer(&d.EnclaveOptions, over.EnclaveOptions)
	setPointer(&d.PrivateDNSNameOptions, over.PrivateDNSNameOptions)
	setPointer(&d.DisableAPITermination, over.DisableAPITermination)
	setPointer(&d.DisableAPIStop, over.DisableAPIStop)
	setList(&d.BlockDeviceMappings, over.BlockDeviceMappings)
	setList(&d.NetworkInterfaces, over.NetworkInterfaces)
	setList(&d.SecurityGroupIDs, over.SecurityGroupIDs)
	setList(&d.SecurityGroups, over.SecurityGroups)
	// Tags of a call add to those of the template.
	d.TagSpecifications = append(append([]tagSpecification{}, d.TagSpecifications...), over.TagSpecifications...)
	return d
}

func setText(to *string, from string) {
	if from != "" {
		*to = from
	}
}

func setPointer[T any](to **T, from *T) {
	if from != nil {
		*to = from
	}
}

func setList[T any](to *[]T, from []T) {
	if len(from) > 0 {
		*to = from
	}
}
