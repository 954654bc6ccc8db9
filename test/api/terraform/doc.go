// Package terraform applies, plans again and destroys topics and queues with Terraform's AWS
// provider against a three-node cluster. A second plan with changes shows an attribute that
// reads differently than it was written.
//
// It needs terraform in the path and the provider in a plugin folder: the one that
// SERIATIM_TERRAFORM_PLUGINS names, or one that Terraform searches itself. It runs with the
// argument -terraform only: the provider takes minutes to start.
package terraform
