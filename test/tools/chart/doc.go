// Package chart renders the Helm chart of deploy/helm as helm does, over a matrix of values,
// decodes each object strictly into the types of Kubernetes and of the operators that it is
// for, and asserts what must hold whatever the values are. It also keeps the manifests of
// deploy/kubernetes equal to what the chart renders.
//
// It is a module of its own, so that helm and Kubernetes stay out of the product's go.mod,
// and refuses to know the product: whether the server understands the settings is tested
// beside the server.
package chart
