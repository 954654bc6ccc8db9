// Package terraform applies, plans again and destroys what Terraform's AWS provider calls
// topics and queues, against a three-node cluster: a second plan that wants changes shows
// an attribute that reads otherwise than it was written.
//
// It needs terraform in the path and the provider in a folder of plugins, the one that
// SERIATIM_TERRAFORM_PLUGINS names or one of those that Terraform searches itself. Nothing
// is fetched; where one of the two is missing the test is skipped and says so.
//
// It refuses to know how the server is built: there is no import of the product here.
package terraform
