// Package chart renders the Helm chart of deploy/helm over a matrix of values, decodes each
// object strictly into its Kubernetes type, and asserts the rules that hold for all values. It
// also keeps the manifests of deploy/kubernetes equal to the rendered chart.
//
// It is a module of its own, to keep helm and Kubernetes out of the product's go.mod.
package chart
