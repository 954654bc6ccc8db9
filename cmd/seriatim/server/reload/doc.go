// Package reload reads files again when they change, so that you renew certificates and tokens
// without a restart.
//
// It looks at a file when it is needed, at most once a second. A watcher would cost work on an
// idle node and miss some ways to replace a file, such as the symbolic links of Kubernetes
// secrets. Files that cannot be used leave the former contents in force, which is logged.
package reload
