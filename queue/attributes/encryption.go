package attributes

// ClaimEncryption sets SqsManagedSseEnabled to false in a list of attributes, unless bodies are
// encrypted at rest. The state does not contain whether they are.
func ClaimEncryption(listed []Attribute, encrypted bool) {
	for i := range listed {
		if listed[i].Name == nameSQSManaged && !encrypted {
			listed[i].Value = "false"
		}
	}
}
