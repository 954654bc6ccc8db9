// Command corpus keeps what fuzzing found. It reads the inputs that Go left in
// its fuzz cache and copies to testdata/fuzz/<Target> of their package those
// that are small and reach a statement of the product which neither the seeds
// of the target nor an input kept before reach; smallest first. Where these are
// few, as Go counts branches and this counts statements, the inputs found last
// join them. What is there already stays: it may hold an input that once failed.
//
// It needs a cache, so it is run after `make fuzz`; it fuzzes nothing itself.
package main
