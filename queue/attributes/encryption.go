package attributes

// ClaimEncryption has SqsManagedSseEnabled among listed attributes say true only if bodies are
// encrypted at rest, which is not for the state to know.
func ClaimEncryption(listed []Attribute, encrypted bool) {
	for i := range listed {
		if listed[i].Name == nameSQSManaged && !encrypted {
			listed[i].Value = "false"
		}
	}
}
