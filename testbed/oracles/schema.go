package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func init() {
	commands["schema"] = func() error { return printSchema(false) }
	commands["schema-names"] = func() error { return printSchema(true) }
}

// schemaTable collects the facts of the built-in OpenAPI document that a strategic merge looks at.
type schemaTable struct {
	definitions spec.Definitions
	numbers     map[string]int
	order       []string
	byText      map[string]int
	texts       []string
}

// printSchema prints the compact table that the kustomize engine compiles in, or the names of its
// definitions in the order of their numbers. Its form is described in the engine's schema module.
func printSchema(onlyNames bool) error {
	root := openapi.Schema()
	table := &schemaTable{definitions: root.Definitions, numbers: map[string]int{}, byText: map[string]int{}}
	type kind struct{ apiVersion, kind, definition string }
	var kinds []kind
	for name, definition := range root.Definitions {
		extension, found := definition.Extensions["x-kubernetes-group-version-kind"]
		if !found {
			continue
		}
		for _, entry := range extension.([]interface{}) {
			fields := entry.(map[string]interface{})
			apiVersion := fields["version"].(string)
			if group, _ := fields["group"].(string); group != "" {
				apiVersion = group + "/" + apiVersion
			}
			kinds = append(kinds, kind{apiVersion, fields["kind"].(string), name})
		}
	}
	sort.Slice(kinds, func(i, j int) bool {
		return kinds[i].apiVersion+" "+kinds[i].kind < kinds[j].apiVersion+" "+kinds[j].kind
	})
	var lines []string
	for _, entry := range kinds {
		number := table.define(entry.definition)
		scope := "?"
		typeMeta := yaml.TypeMeta{APIVersion: entry.apiVersion, Kind: entry.kind}
		if namespaced, known := openapi.IsNamespaceScoped(typeMeta); known {
			scope = map[bool]string{true: "n", false: "c"}[namespaced]
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %d", scope, entry.apiVersion, entry.kind, number))
	}
	out := bufio.NewWriter(os.Stdout)
	if onlyNames {
		for _, name := range table.order {
			fmt.Fprintln(out, name)
		}
		return out.Flush()
	}
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out, "#")
	for _, name := range table.order {
		fmt.Fprintln(out, table.texts[table.numbers[name]])
	}
	return out.Flush()
}

// define numbers a definition and, on first sight, describes it and all that it refers to.
func (t *schemaTable) define(name string) int {
	if number, known := t.numbers[name]; known {
		return number
	}
	number := len(t.texts)
	t.numbers[name] = number
	t.order = append(t.order, name)
	t.texts = append(t.texts, "")
	definition := t.definitions[name]
	t.texts[number] = t.fields(&definition)
	return number
}

// fields describes the properties of an object that are not plain scalars.
func (t *schemaTable) fields(definition *spec.Schema) string {
	var names []string
	for name := range definition.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	var parts []string
	for _, name := range names {
		property := definition.Properties[name]
		shape := t.shape(&property)
		if shape == "" {
			continue
		}
		parts = append(parts, name+shape+strategy(&property))
	}
	if definition.AdditionalProperties != nil && definition.AdditionalProperties.Schema != nil {
		if shape := t.shape(definition.AdditionalProperties.Schema); shape != "" {
			parts = append(parts, "*"+shape)
		}
	}
	return strings.Join(parts, " ")
}

// shape is "" for a scalar, ">N" for a reference, "[" or "{" before the shape of a list's or map's
// elements, and "." for anything else.
func (t *schemaTable) shape(schema *spec.Schema) string {
	if reference := schema.Ref.String(); reference != "" {
		name := strings.TrimPrefix(reference, "#/definitions/")
		target := t.definitions[name]
		if isScalar(&target) {
			return ""
		}
		return fmt.Sprintf(">%d", t.define(name))
	}
	if len(schema.Type) == 1 && schema.Type[0] == "array" {
		if schema.Items == nil || schema.Items.Schema == nil {
			return "[."
		}
		inner := t.shape(schema.Items.Schema)
		if inner == "" {
			inner = "'"
		}
		return "[" + inner
	}
	if isScalar(schema) {
		return ""
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		inner := t.shape(schema.AdditionalProperties.Schema)
		if inner == "" {
			inner = "'"
		}
		return "{" + inner
	}
	if len(schema.Properties) > 0 {
		panic("inline object in the built-in schema")
	}
	return "."
}

func isScalar(schema *spec.Schema) bool {
	if len(schema.Type) != 1 {
		return false
	}
	switch schema.Type[0] {
	case "string", "integer", "number", "boolean":
		return true
	}
	return false
}

// strategy is "!strategy" with ":key,key" after it when the list has merge keys.
func strategy(schema *spec.Schema) string {
	name, keys := (&openapi.ResourceSchema{Schema: schema}).PatchStrategyAndKeyList()
	if name == "" {
		return ""
	}
	text := "!" + name
	if len(keys) > 0 {
		text += ":" + strings.Join(keys, ",")
	}
	return text
}
