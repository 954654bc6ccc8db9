package sns

import "github.com/seriatimq/seriatim/transport/aws"

// namespace is that of all answers.
const namespace = "http://sns.amazonaws.com/doc/2010-03-31/"

// API describes the service to package aws. It has no state of its own.
func API() *aws.API {
	return &aws.API{
		Service: "sns", Version: "2010-03-31", Namespace: namespace,
		Errors: model, Internal: internalCode, Actions: actions(), Refusal: wireError,
	}
}
