// Package servicebus tests the server with the Azure Service Bus SDK for Go. It is a module of its own, to
// keep the product's go.mod short. The tests need a running cluster:
//
//	SERIATIM_ENDPOINTS="http://127.0.0.1:9324" go test -count 1 -parallel 8 .
package servicebus
